"""Real Ray clusters: a head and further nodes, each a set of processes of its own, on this machine."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def head(compilation_cache: dict[str, str]) -> Iterator[Any]:
    """A cluster of a head without CPUs. A node whose processes are gone, which refuses the head's call at once, is
    noticed within two seconds; one that is only slow to answer is not given up."""
    from ray.cluster_utils import Cluster

    health = {"health_check_period_ms": 500, "health_check_failure_threshold": 2}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in compilation_cache.items():  # workers have the environment of their node
            patch.setenv(name, value)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": health})
        yield made
        made.shutdown()


@pytest.fixture
def cluster(head: Any) -> Any:
    """The cluster with two living nodes of one CPU each, whatever a test before did to them."""
    while len(head.worker_nodes) < 2:
        head.add_node(num_cpus=1)
    head.wait_for_nodes()
    return head
