"""A run on several nodes gives the bytes of a serial one, also when a node dies."""

import sys
from pathlib import Path


def test_a_lost_node_is_survived(finished, copy_of, cluster):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment |= {"AWT_EXECUTOR": "ray", "RAY_ADDRESS": cluster.address}
    workspace.edit({"runtime.checkpoint_seconds": 0})
    worker_code = workspace.path / "src" / "awt" / "runtime" / "worker.py"
    worker_code.write_text(worker_code.read_text().replace('f"start {task.label}', 'f"start (the copy) {task.label}'))
    process = workspace.start(sys.executable, "stages/mask.py")
    worker, _ = workspace.worker(process)
    node = next(node for node in cluster.worker_nodes if _raylet(node) == _parent(worker))
    cluster.remove_node(node, allow_graceful=False)  # SIGKILL for each of its processes
    output = workspace.output(process)
    assert process.returncode == 0, output
    assert workspace.record("mask")["cells"]["retried"] >= 1
    assert "start (the copy)" in workspace.logs()  # the nodes ran the driver's code, not what is installed
    assert workspace.results() == finished.results()


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _raylet(node) -> int:
    return node.all_processes["raylet"][0].process.pid
