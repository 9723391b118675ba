import pytest

from sapwood.runtime.cgroups import cgroup_cpus

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate\n"
V1 = """31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
"""


@pytest.fixture
def system(tmp_path):
    """Writer of a fake /proc and /sys: memberships, mounts, and the quotas of groups by folder below /sys/fs/cgroup."""

    def write(cgroup, mountinfo, quotas):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(cgroup)
        (tmp_path / "proc/self/mountinfo").write_text(mountinfo)
        for folder, quota in quotas.items():
            group = tmp_path / "sys/fs/cgroup" / folder
            group.mkdir(parents=True, exist_ok=True)
            if isinstance(quota, str):
                (group / "cpu.max").write_text(quota)
            else:
                (group / "cpu.cfs_quota_us").write_text(f"{quota[0]}\n")
                (group / "cpu.cfs_period_us").write_text(f"{quota[1]}\n")
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("quota", "n_cpus"),
    [("max 100000\n", None), ("100000 100000\n", 1), ("150000 100000", 2), ("50000 100000", 1), ("1000000 100000", 10), ("", None)]
    + [("broken", None), ("0 100000", None), ("100000 0", None)],
)
def test_the_quota_of_a_container(system, quota, n_cpus):
    assert cgroup_cpus(system("0::/\n", V2, {"": quota})) == n_cpus


@pytest.mark.parametrize(
    ("quotas", "n_cpus"),
    [
        ({"a.slice/b.scope": "50000 100000"}, 1),
        ({"a.slice": "150000 100000", "a.slice/b.scope": "max 100000"}, 2),
        ({"a.slice": "300000 100000", "a.slice/b.scope": "500000 100000"}, 3),
        ({"a.slice": "max 100000", "a.slice/b.scope": "400000 100000"}, 4),
        ({"a.slice/other.scope": "50000 100000", "other.slice": "50000 100000"}, None),
        ({"a.slice/b.scope/child": "50000 100000"}, None),
    ],
)
def test_nested_groups_of_version_2(system, quotas, n_cpus):
    assert cgroup_cpus(system("0::/a.slice/b.scope\n", V2, quotas)) == n_cpus


@pytest.mark.parametrize(
    ("quotas", "n_cpus"),
    [
        ({"cpu,cpuacct/docker/x": (50_000, 100_000)}, 1),
        ({"cpu,cpuacct": (-1, 100_000), "cpu,cpuacct/docker/x": (250_000, 100_000)}, 3),
        ({"cpu,cpuacct/docker": (150_000, 100_000), "cpu,cpuacct/docker/x": (-1, 100_000)}, 2),
        ({"cpu,cpuacct/docker/x": (-1, 100_000)}, None),
        ({"memory/docker/x": (50_000, 100_000), "cpuset/docker/x": (50_000, 100_000)}, None),
    ],
)
def test_version_1(system, quotas, n_cpus):
    cgroup = "12:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n3:cpuset:/docker/x\n1:name=systemd:/docker/x\n"
    assert cgroup_cpus(system(cgroup, V1, quotas)) == n_cpus


def test_version_1_in_a_container_whose_group_is_the_top_of_the_mount(system):
    mounts = V1.replace("0:30 / ", "0:30 /docker/x ")
    assert cgroup_cpus(system("4:cpu,cpuacct:/docker/x\n", mounts, {"cpu,cpuacct": (150_000, 100_000)})) == 2


def test_the_path_of_the_host_in_a_container_with_its_own_mount(system):
    """The groups of the path are not there: the top of the mount is the container's own."""
    assert cgroup_cpus(system("4:cpu,cpuacct:/kubepods/pod/x\n", V1, {"cpu,cpuacct": (50_000, 100_000)})) == 1


def test_both_versions_count(system):
    mounts = V1 + V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ")
    quotas = {"cpu,cpuacct/a": (300_000, 100_000), "unified/b": "200000 100000"}
    assert cgroup_cpus(system("4:cpu,cpuacct:/a\n0::/b\n", mounts, quotas)) == 2


def test_a_group_outside_of_the_namespace(system):
    assert cgroup_cpus(system("0::/../other\n", V2, {"": "200000 100000"})) == 2


def test_a_mount_point_with_a_blank(system):
    mounts = V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/a\\040b ")
    assert cgroup_cpus(system("0::/\n", mounts, {"a b": "200000 100000"})) == 2


def test_without_proc_there_is_no_quota(tmp_path):
    assert cgroup_cpus(tmp_path) is None


@pytest.mark.parametrize("text", ["", "garbage\n", "1:2\n", "a - b\n"])
def test_files_that_say_something_else(system, text):
    assert cgroup_cpus(system(text, text, {"": "100000 100000"})) is None


def test_a_quota_that_changes_is_read_again(system):
    root = system("0::/\n", V2, {"": "100000 100000"})
    assert cgroup_cpus(root) == 1
    (root / "sys/fs/cgroup/cpu.max").write_text("300000 100000")
    assert cgroup_cpus(root) == 3
