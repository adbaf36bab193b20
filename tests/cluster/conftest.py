"""Real Ray clusters: a head and further nodes, each a set of processes of its own, on this machine."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head without CPUs and two nodes with one CPU each; a lost node is noticed within two seconds."""
    from ray.cluster_utils import Cluster

    health = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 500,
        "health_check_timeout_ms": 500,
        "health_check_failure_threshold": 2,
    }
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": health})
    for _ in range(2):
        made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    made.shutdown()
