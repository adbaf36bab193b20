"""Nodes, heads and drivers that are killed: the run goes on, or says why not, and ends with the bytes of a calm one."""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

SCRATCH = Path(tempfile.gettempdir()) / f"awt-checkpoints-{os.getuid()}"


def node_of(worker, cluster, raylet):
    return next((node for node in cluster.worker_nodes if raylet(node).pid == psutil.Process(worker).ppid()), None)


@pytest.mark.slow
@pytest.mark.chaos("a node is killed (SIGKILL) in kernel, retrain, evaluate")
@pytest.mark.parametrize("stage", ["kernel", "retrain", "evaluate"])
def test_a_node_that_is_killed_in_any_stage_costs_nothing(stage, workspace, cluster, finished, raylet, saw):
    process = workspace.start(sys.executable, f"stages/{stage}.py")

    def busy():
        """A node on which a cell runs."""
        for worker in [child for node in cluster.worker_nodes for child in raylet(node).children()]:
            if worker.name().startswith("ray::run_task"):
                return node_of(worker.pid, cluster, raylet)
        return None

    cluster.remove_node(workspace.wait_for(busy, process), allow_graceful=False)  # SIGKILL for each of its processes
    output = workspace.output(process)
    assert process.returncode == 0, output
    assert workspace.record(stage)["cells"]["retried"] >= 1
    saw(output, rf"{stage}: retry .*: its worker was lost")
    assert workspace.results() == finished.results()


@pytest.mark.slow
@pytest.mark.chaos("ten kills at random, of workers and nodes")
def test_ten_kills_at_random_cost_nothing(workspace, cluster, finished, raylet, saw):
    """Of workers and of nodes, which come back; in all stages that compute."""
    workspace.edit({"runtime.retries": 10})
    chance, kills = random.Random(0), []
    for stage in ("kernel", "mask", "retrain", "evaluate"):
        process = workspace.start(sys.executable, f"stages/{stage}.py")
        while process.poll() is None:
            time.sleep(chance.uniform(0.5, 3))
            workers = [child for node in cluster.worker_nodes for child in raylet(node).children()]
            working = [worker for worker in workers if worker.name().startswith("ray::run_task")]
            if len(kills) == 10 or not working or process.poll() is not None:
                continue
            victim = chance.choice(sorted(working, key=lambda worker: worker.pid))
            if chance.random() < 0.5:
                victim.kill()
                kills.append("worker")
            else:
                cluster.remove_node(node_of(victim.pid, cluster, raylet), allow_graceful=False)
                cluster.add_node(num_cpus=1)
                kills.append("node")
        output = workspace.output(process)
        assert process.returncode == 0, output
    assert len(kills) == 10
    assert set(kills) == {"worker", "node"}
    saw(output, "evaluate: .* computed")
    assert workspace.results() == finished.results()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("killed", "told"),
    [
        pytest.param(
            "machine",
            "its node on this machine is gone",
            id="machine",
            marks=pytest.mark.chaos("the head is killed, and the node beside the driver with it"),
        ),
        pytest.param(
            "head",
            r"its head at [\d.]+:\d+ has not answered for 15 s",
            id="head",
            marks=pytest.mark.chaos("the head is killed (SIGKILL), no node with it"),
        ),
    ],
)
def test_a_lost_head_is_told_and_a_new_one_goes_on(killed, told, finished, copy_of, make_cluster, saw):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.edit({"runtime.checkpoint_seconds": 0, "retrain.epochs": 60})
    first = make_cluster()
    first.add_node(num_cpus=1)
    first.wait_for_nodes()
    workspace.environment |= {"AWT_EXECUTOR": "ray", "RAY_ADDRESS": first.address}
    process = workspace.start(sys.executable, "stages/retrain.py")
    workspace.wait_for(workspace.checkpoints, process)
    if killed == "machine":
        first.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
    else:
        first.head_node.kill_gcs_server(check_alive=False)
    output = workspace.output(process)
    assert process.returncode == 1, output
    saw(output, f"error: lost the Ray cluster: {told}")
    assert "run again once there is a cluster to continue" in output
    assert "Traceback" not in output
    for node in first.list_all_nodes():
        node.kill_all_processes(check_alive=False, allow_graceful=False)
    second = make_cluster()
    second.add_node(num_cpus=1)
    second.wait_for_nodes()
    workspace.environment["RAY_ADDRESS"] = second.address
    workspace.edit({"runtime.checkpoint_seconds": 3600})
    done = workspace.stage("retrain")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "resumed at step" in workspace.logs()


@pytest.mark.slow
@pytest.mark.chaos("the driver is killed (SIGKILL), and its machine gone")
def test_a_killed_driver_is_taken_over_by_one_elsewhere(workspace, finished, copy_of, tmp_path, saw, change):
    """Another clone, which has nothing in common with the first but the store's URL."""
    url = f"file://{tmp_path}/bucket"
    workspace.environment["AWT_STORE"] = url
    process = workspace.start(sys.executable, "stages/retrain.py")

    def done():
        return list((tmp_path / "bucket" / "cells").glob("??/*/meta.json"))

    def travelled():
        return list((tmp_path / "bucket" / "work").glob("*/checkpoints/*.json"))

    workspace.wait_for(done, process)
    workspace.wait_for(travelled, process)
    workspace.kill(process, signal.SIGKILL)
    before, begun = {path: path.stat().st_mtime_ns for path in done()}, {path.parts[-3] for path in travelled()}
    shutil.rmtree(SCRATCH, ignore_errors=True)  # the other machine's
    elsewhere = copy_of(finished)
    elsewhere.command("rm", "-rf", ".awt")
    elsewhere.environment |= {
        name: workspace.environment[name] for name in ("AWT_STORE", "AWT_EXECUTOR", "RAY_ADDRESS")
    }
    elsewhere.edit({"runtime.checkpoint_seconds": 0})
    change(elsewhere.path, "runtime/lock.py", "DEAD_SECONDS = 20.0", "DEAD_SECONDS = 2.0")
    finishing = elsewhere.stage("retrain")
    assert finishing.returncode == 0, finishing.stdout + finishing.stderr
    saw(finishing.stdout + finishing.stderr, "retrain: .* reused")
    assert elsewhere.record("retrain")["cells"]["reused"] >= len(before)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert begun
    for key in begun - {path.parent.name for path in before}:
        assert f"from {url}" in elsewhere.log(key)
        assert "resumed at step" in elsewhere.log(key)
    assert elsewhere.results() == finished.results()
    elsewhere.command("rm", "-rf", ".awt")  # all is at the URL
    label, [key] = "retrain awt-0.1-seed0", workspace.keys("retrain awt-0.1-")
    for command, told in (
        (["cells"], label),
        (["logs", label], "done after"),
        (["lineage", label], key[:12]),
        (["store", "gc", "--days", "0"], "dropped 0 cells"),
    ):
        asked = elsewhere.command(sys.executable, "-c", "from awt.commands.main import main; main()", *command)
        assert told in asked.stdout, asked.stdout + asked.stderr
    assert len(done()) == len(elsewhere.record("retrain")["cells"]["cells"])
