"""One Dask cluster for all tests of a session."""

import pytest


@pytest.fixture(scope="session")
def client():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster, Client(cluster) as client:
        yield client
