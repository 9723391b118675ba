"""Files are replaced as a whole: interrupts, full disks, killed processes, concurrent writers."""

import errno
import fcntl
import os
import signal
import threading
import warnings
from contextlib import suppress

import numpy as np
import pytest

from sapwood import BoostingRegressor, Checkpoint, load
from sapwood.model import disk, export
from sapwood.training import checkpoint as checkpoints
from tests.interrupts import at_every_bytecode

OLD, NEW = b"old" * 1000, b"new" * 5000


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)  # hundreds of writes
    (tmp_path / "model").write_bytes(OLD)
    return tmp_path / "model"


@pytest.fixture(scope="module")
def models():
    x = np.random.default_rng(0).normal(size=(100, 2))
    return [BoostingRegressor(max_iter=n).fit(x, x[:, 0]) for n in (1, 2)]


def open_files():
    """How many files of tests are open; threads of other tests have files and sockets of their own. Python has no object for an open folder
    that would close it, so an interrupt may leave one open."""
    if not os.path.isdir("/proc/self/fd"):
        return 0
    targets = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # closed in the meantime
            targets.append(os.readlink(f"/proc/self/fd/{name}"))
    return sum("/pytest-of-" in target and not os.path.isdir(target) for target in targets)


def names(folder):
    return sorted(os.listdir(folder))


def killed_while_writing(folder):
    """A process that dies in the middle of a write, and leaves its temporary file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that this process has threads
        child = os.fork()
    if child == 0:
        os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
        try:
            disk.write(folder / "model", b"half")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that is closed because nobody holds it any more
class TestInterrupts:
    def check(self, path, contents, files):
        assert path.read_bytes() in contents
        assert names(path.parent) == [path.name]
        assert open_files() == files

    def test_write(self, path):
        found, files = set(), open_files()

        def check():
            found.add(path.read_bytes())
            self.check(path, (OLD, NEW), files)
            path.write_bytes(OLD)

        assert at_every_bytecode(lambda: disk.write(path, NEW), [disk], check) > 200
        assert found == {OLD, NEW}  # before and after it took the name
        assert path.read_bytes() == NEW

    def test_new_file(self, tmp_path, path):
        new, files = tmp_path / "folder" / "new", open_files()
        new.parent.mkdir()

        def check():
            assert names(new.parent) in ([], ["new"])
            assert open_files() == files
            new.unlink(missing_ok=True)

        at_every_bytecode(lambda: disk.write(new, NEW), [disk], check)
        assert new.read_bytes() == NEW

    def test_full_disk(self, path, monkeypatch):
        """An interrupt while the temporary file is removed may leave it: then the next write removes it."""

        def full(file):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def call():
            with monkeypatch.context() as patch, pytest.raises(OSError, match=r"No space left on device.*model"):
                patch.setattr(os, "fsync", full)
                disk.write(path, NEW)

        def check():
            assert path.read_bytes() == OLD
            disk.write(path, OLD)
            assert names(path.parent) == [path.name]

        at_every_bytecode(call, [disk], check)

    def test_save(self, path, models):
        contents, files = {model.to_bytes(): model for model in models}, open_files()
        models[0].save(path)
        at_every_bytecode(lambda: models[1].save(path), [disk], lambda: self.check(path, contents, files), step=3)
        assert load(path).n_iter_ == 2

    def test_export(self, path, models):
        contents, files = [model.export("c").encode() for model in models], open_files()
        models[0].export("c", path)
        at_every_bytecode(lambda: models[1].export("c", path), [disk, export], lambda: self.check(path, contents, files), step=3)
        assert path.read_bytes() == contents[1]

    def test_checkpoint(self, path):
        x = np.random.default_rng(0).normal(size=(50, 2))
        model, files = BoostingRegressor(max_iter=3, max_leaf_nodes=3, min_samples_leaf=1, n_jobs=1), open_files()
        whole = model.fit(x, x[:, 0]).to_bytes()
        path.unlink()

        def fit():
            model.fit(x, x[:, 0], checkpoint=Checkpoint(path, every=1))

        def check():
            assert names(path.parent) in ([], [path.name])
            assert open_files() == files
            fit()
            assert model.to_bytes() == whole
            path.unlink()

        assert at_every_bytecode(fit, [disk, checkpoints], check, step=17) > 50


class TestTemporaryFiles:
    def test_of_a_killed_process(self, path):
        killed_while_writing(path.parent)
        left = [name for name in names(path.parent) if name != path.name]
        assert len(left) == 1 and left[0].startswith(disk.PREFIX) and left[0].endswith(disk.SUFFIX)
        disk.write(path, NEW)
        assert names(path.parent) == [path.name]

    def test_of_another_write_stay(self, path):
        """A locked one is being written."""
        other = path.parent / f"{disk.PREFIX}0{disk.SUFFIX}"
        with open(other, "xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(b"part")
            file.flush()
            disk.write(path, NEW)
            assert other.exists()
        disk.write(path, NEW)
        assert not other.exists()

    def test_other_files_stay(self, path, tmp_path):
        part = tmp_path / f"{disk.PREFIX}link{disk.SUFFIX}"
        part.symlink_to(path)
        os.mkfifo(tmp_path / f"{disk.PREFIX}pipe{disk.SUFFIX}")
        (tmp_path / f"{disk.PREFIX}folder{disk.SUFFIX}").mkdir()
        (tmp_path / f"{disk.PREFIX}notes").touch()
        (tmp_path / f"notes{disk.SUFFIX}").touch()
        before = names(tmp_path)
        disk.write(path, NEW)
        assert names(tmp_path) == before

    def test_removed_by_another_program(self, path, monkeypatch):
        """A program that cleans up, or a writer on another machine that sees no locks."""
        replace = os.replace

        def removed_first(times):
            def call(source, target):
                if times:
                    times.pop()
                    os.unlink(source)
                replace(source, target)

            return call

        monkeypatch.setattr(os, "replace", removed_first([1, 1]))
        disk.write(path, NEW)
        assert path.read_bytes() == NEW
        monkeypatch.setattr(os, "replace", removed_first([1] * disk.ATTEMPTS))
        with pytest.raises(FileNotFoundError, match=r"another program removes the temporary file.*model"):
            disk.write(path, OLD)
        assert path.read_bytes() == NEW and names(path.parent) == [path.name]

    def test_file_system_without_locks(self, path, monkeypatch):
        def refuse(file, how):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        killed_while_writing(path.parent)
        monkeypatch.setattr(fcntl, "flock", refuse)
        disk.write(path, NEW)
        assert path.read_bytes() == NEW
        assert len(names(path.parent)) == 2  # whether it is being written is not known

    def test_concurrent_writers(self, path):
        contents = [bytes([i]) * 10_000 for i in range(4)]
        errors = []

        def write(content):
            try:
                for _ in range(50):
                    disk.write(path, content)
            except OSError as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(content,)) for content in contents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert path.read_bytes() in contents and names(path.parent) == [path.name]


class TestExports:
    @pytest.mark.parametrize("format", ["c", "lightgbm", "xgboost", "onnx", "treelite"])
    def test_are_replaced_as_a_whole(self, path, models, format, monkeypatch):
        pytest.importorskip({"lightgbm": "numpy", "c": "numpy", "xgboost": "numpy"}.get(format, format))

        def full(file):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left on device.*model"):
            models[0].export(format, path)
        assert path.read_bytes() == OLD and names(path.parent) == [path.name]
        monkeypatch.undo()
        models[0].export(format, path)
        assert path.read_bytes() != OLD

    def test_errors_name_the_file(self, models, tmp_path):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            models[0].export("treelite", tmp_path / "nowhere" / "model")
        with pytest.raises(IsADirectoryError, match=str(tmp_path)):
            models[0].export("onnx", tmp_path)
