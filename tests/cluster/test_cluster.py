"""A run on several nodes gives the bytes of a serial one, also when a node dies; when all die it says so."""

import sys

import psutil
import pytest


@pytest.fixture
def has_the_monitor(raylet):
    return lambda node: any(child.name().startswith("ray::Monitor") for child in raylet(node).children())


@pytest.mark.chaos("all nodes are gone")
def test_nodes_that_are_gone_for_good_end_the_run(workspace, cluster, change, has_the_monitor, saw):
    change(workspace.path, "runtime/ray_executor.py", "UNSATISFIABLE_SECONDS = 30.0", "UNSATISFIABLE_SECONDS = 1.0")
    process = workspace.start(sys.executable, "stages/mask.py")
    workspace.worker("mask awt-0.1-", process)
    assert has_the_monitor(cluster.head_node)
    for node in list(cluster.worker_nodes):
        cluster.remove_node(node, allow_graceful=False)  # SIGKILL for each of its processes
    output = workspace.output(process)
    assert process.returncode == 1, output
    saw(output, "the nodes that could go on are gone: runtime.resources: a mask cell asks for 1 CPUs")
    assert "run again once they are back" in output
    assert "Traceback" not in output


@pytest.mark.chaos("a node is killed (SIGKILL) in mask")
def test_a_lost_node_is_survived(workspace, cluster, finished, change, raylet, has_the_monitor, saw):
    change(workspace.path, "runtime/worker.py", 'f"start {task.label}', 'f"start (the copy) {task.label}')
    process = workspace.start(sys.executable, "stages/mask.py")
    worker, key = workspace.worker("mask awt-0.1-", process)
    assert has_the_monitor(cluster.head_node)  # where the driver is, however often a node is lost
    node = next(node for node in cluster.worker_nodes if raylet(node).pid == psutil.Process(worker).ppid())
    workspace.wait_for(lambda: workspace.checkpoints(key), process)
    cluster.remove_node(node, allow_graceful=False)
    output = workspace.output(process)
    assert process.returncode == 0, output
    assert workspace.record("mask")["cells"]["retried"] >= 1
    saw(output, "mask: retry ")
    assert "resumed at step" in workspace.log(key)
    assert "start (the copy)" in workspace.logs()  # the nodes ran the driver's code, not what is installed
    assert workspace.results() == finished.results()
