"""One Dask cluster for all tests of this package. Its workers are forks of a process that has imported Sapwood: they start at once."""

import dask
import pytest

IMPORTED_BY_WORKERS = ["distributed.nanny", "distributed.worker", "pandas", "sapwood.dask", "tests.cluster.cases"]


@pytest.fixture(scope="package")  # closed at its end: idle workers take a fifth of a core
def client():
    from distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    settings = {"n_workers": 4, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(IMPORTED_BY_WORKERS)
        with LocalCluster(**settings) as cluster, Client(cluster) as client:
            yield client
