"""Fits on a Ray cluster of several machines, here as several nodes on one: messages between them do not go through shared memory."""

import pytest
import ray
from ray.cluster_utils import Cluster

from sapwood.ray import RayBoostingClassifier
from tests.cluster.cases import CASES, expected
from tests.cluster.test_ray import put

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture
def machines():
    own = {"num_cpus": 2, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args=own | {"include_dashboard": False})
    cluster.add_node(**own)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()
    cluster.shutdown()


def test_workers_on_two_machines(machines):
    case = CASES["categories"]
    estimator = RayBoostingClassifier(**case.estimator.get_params(), n_workers=3)
    estimator.fit(put(case.X, "uneven"), put(case.y, "uneven"))
    assert estimator.to_bytes() == expected(case)
    assert estimator.communication_["workers"] == 3
