"""Whatever dies, and wherever: the run goes on, and ends with the bytes of an undisturbed one."""

import os
import signal
import socket
import sys

import pytest

from awt.runtime.cores import available

ALWAYS = {"runtime.checkpoint_seconds": 0}  # between any two pieces of a loop
SELDOM = {"runtime.checkpoint_seconds": 3600}
TILE_CORES = min(2, available())


@pytest.fixture(scope="module")
def survivor(fresh):
    """A repository whose first `dvc repro`, on Ray, was ended by kill -9 in the middle of mask, and the second by
    itself; tiles of the Gram matrix had two cores, where there are."""
    workspace = fresh()
    workspace.environment["AWT_EXECUTOR"] = "ray"
    workspace.edit(ALWAYS | {"runtime.resources": {"tile": {"cpus": TILE_CORES}}})
    process = workspace.start(sys.executable, "-m", "dvc", "repro")
    workspace.wait_for(workspace.checkpoints, process)  # no stage before mask makes any
    workspace.kill(process)
    assert not (workspace.folder / "artifacts" / "records" / "mask.json").exists()
    workspace.edit(SELDOM)
    workspace.dvc("repro")
    return workspace


def test_serial_and_ray_give_the_same_bytes(finished, survivor):
    for stage in ("kernel", "mask", "retrain", "evaluate"):
        assert survivor.record(stage)["executor"] == "ray"
    assert survivor.results() == finished.results()


def test_a_killed_driver_loses_nothing(survivor):
    assert "resumed at step" in survivor.logs()


@pytest.mark.skipif(TILE_CORES < 2, reason="needs two cores")
def test_cells_compute_with_the_cores_they_ask_for(finished, survivor):
    for label, cores, same in (("dense side", 1, True), ("gram", TILE_CORES, False)):
        keys = survivor.keys(label)
        assert keys
        assert all(f"with {cores} cores" in survivor.log(key) for key in keys)
        assert (set(keys) == set(finished.keys(label))) is same  # the number of cores is part of a cell's key


@pytest.mark.chaos("a worker is stopped (SIGTERM), another killed (SIGKILL)")
def test_workers_that_are_stopped_or_killed_are_replaced(finished, copy_of, saw):
    """SIGTERM for the worker of one cell, as a node that is taken away sends; kill -9 for that of another."""
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment["AWT_EXECUTOR"] = "ray"
    workspace.edit(ALWAYS)
    process = workspace.start(sys.executable, "stages/retrain.py")
    worker, stopped = workspace.worker("retrain awt-0.1", process)
    os.kill(worker, signal.SIGTERM)
    worker, killed = workspace.worker("retrain awt-0.3", process)
    workspace.wait_for(lambda: workspace.checkpoints(killed), process)
    os.kill(worker, signal.SIGKILL)
    output = workspace.output(process)
    assert process.returncode == 0, output
    assert workspace.record("retrain")["cells"]["retried"] == 2
    saw(output, "retrain: retry .*: its worker was stopped")
    saw(output, "retrain: retry .*: its worker was lost")
    for key, reason in ((stopped, "its worker was stopped (stopped and checkpointed"), (killed, "its worker was lost")):
        assert f"attempt 1 lost: {reason}" in workspace.log(key)
        assert "resumed at step" in workspace.log(key)
    assert workspace.results() == finished.results()


@pytest.mark.parametrize(
    ("executor", "number"), [("serial", signal.SIGINT), ("serial", signal.SIGTERM), ("ray", signal.SIGINT)]
)
def test_a_stop_checkpoints_first(finished, copy_of, executor, number):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment["AWT_EXECUTOR"] = executor
    workspace.edit(SELDOM | {"retrain.epochs": 3000})
    process = workspace.start(sys.executable, "stages/retrain.py")
    workspace.wait_for(lambda: "epoch=1 " in workspace.logs(), process)
    was_interrupted(process, workspace.kill(process, number))
    assert workspace.checkpoints()


def was_interrupted(process, output):
    assert process.returncode == 1, output
    assert "interrupted; finished cells and checkpoints are kept" in output
    assert "Traceback" not in output


def test_sigterm_to_ray_s_processes_as_well_ends_the_run_at_once(finished, copy_of):
    """As a batch system or a container's end sends: cells that Ray no longer starts are not waited for."""
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment["AWT_EXECUTOR"] = "ray"
    workspace.edit(ALWAYS | {"runtime.grace_seconds": 1e6})
    process = workspace.start(sys.executable, "stages/retrain.py")
    workspace.wait_for(workspace.checkpoints, process)
    was_interrupted(process, workspace.kill(process, signal.SIGTERM))
    workspace.environment["AWT_EXECUTOR"] = "serial"  # checkpoints are the same for both
    workspace.edit(SELDOM)
    assert workspace.stage("retrain").returncode == 0
    assert "resumed at step" in workspace.logs()
    assert workspace.results() == finished.results()


def test_an_evaluation_that_is_killed_attacks_again_only_what_was_in_flight(finished, copy_of):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")

    def attacked():
        return sorted((workspace.path / ".awt" / "store" / "cells").glob("??/*/points.npz"))

    process = workspace.start(sys.executable, "stages/evaluate.py")
    workspace.wait_for(lambda: len(attacked()) >= 2, process)
    workspace.kill(process)
    before = {path: path.stat().st_mtime_ns for path in attacked()}
    done = workspace.stage("evaluate")
    assert done.returncode == 0, done.stderr
    assert len(before) < len(attacked())
    assert {path: path.stat().st_mtime_ns for path in before} == before
    cells = workspace.record("evaluate")["cells"]
    assert cells["reused"] >= len(before)
    assert workspace.results() == finished.results()


def test_the_machine_s_settings_of_jax_do_not_show(finished, copy_of):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment |= {
        "JAX_ENABLE_X64": "1",
        "JAX_DEFAULT_PRNG_IMPL": "rbg",
        "JAX_THREEFRY_PARTITIONABLE": "0",
        "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16",
    }
    done = workspace.stage("kernel")
    assert done.returncode == 0, done.stderr
    assert workspace.record("kernel")["cells"]["reused"] == 0
    assert workspace.results() == finished.results()


@pytest.mark.chaos("a second driver on the same experiment")
def test_a_second_driver_is_told_of_the_first_and_a_killed_one_leaves_no_lock(finished, copy_of, saw):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.edit(SELDOM | {"retrain.epochs": 3000})
    first = workspace.start(sys.executable, "stages/retrain.py")
    workspace.wait_for(lambda: "epoch=1 " in workspace.logs(), first)
    second = workspace.stage("retrain")
    assert second.returncode == 1, second.stdout + second.stderr
    told = "the stage retrain of the default experiment is being computed by another driver"
    saw(second.stderr, f"error: {told}: process {first.pid} on {socket.gethostname()}, since 20")
    workspace.kill(first)
    third = workspace.start(sys.executable, "stages/retrain.py")
    workspace.wait_for(lambda: workspace.logs().count("start retrain") == 2, third)
    workspace.kill(third)


@pytest.mark.chaos("the store at a URL does not answer for a while")
def test_a_store_that_does_not_answer_for_a_while_is_waited_for(finished, copy_of, tmp_path, saw):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    bucket, away = tmp_path / "bucket", tmp_path / "away"
    workspace.environment["AWT_STORE"] = f"file://{bucket}"
    process = workspace.start(sys.executable, "stages/retrain.py")
    workspace.wait_for(lambda: list(bucket.glob("cells/??/*/meta.json")), process)
    bucket.rename(away)
    bucket.write_text("not a folder")
    workspace.wait_for(lambda: "does not answer" in (workspace.path / "output").read_text(), process)
    bucket.unlink()
    away.rename(bucket)
    output = workspace.output(process)
    assert process.returncode == 0, output
    saw(output, f"store: file://{bucket} does not answer")
    assert f"store: file://{bucket} answers again" in output
    kept = {path.parent.name for path in bucket.glob("cells/??/*/meta.json")}
    assert kept == {cell["key"] for cell in workspace.record("retrain")["cells"]["cells"]}
    assert workspace.results() == finished.results()


def fails_for_want_of_room(workspace, stage, saw):
    done = workspace.stage(stage)
    assert done.returncode == 1, done.stdout + done.stderr
    saw(done.stderr, "the disk is full")
    assert "Traceback" not in done.stderr


@pytest.mark.chaos("the store's disk is full")
def test_a_full_disk_stops_the_stage_and_nothing_else(finished, copy_of, small_disk, saw):
    workspace = copy_of(finished)
    workspace.environment["AWT_STORE"] = str(small_disk("300k") / "store")
    fails_for_want_of_room(workspace, "kernel", saw)
    assert workspace.results() == finished.results()
    small_disk("200m")
    assert workspace.stage("kernel").returncode == 0
    assert workspace.record("kernel")["cells"]["reused"] > 0
    assert workspace.results() == finished.results()


@pytest.mark.chaos("the disk is full when a checkpoint is made")
def test_a_full_disk_during_a_checkpoint_is_said_and_survived(finished, copy_of, small_disk, saw):
    workspace = copy_of(finished)
    workspace.edit(ALWAYS)
    workspace.environment["AWT_STORE"] = str(small_disk("100k") / "store")
    fails_for_want_of_room(workspace, "retrain", saw)
    small_disk("200m")
    workspace.edit(SELDOM)
    assert workspace.stage("retrain").returncode == 0
    assert workspace.results() == finished.results()


@pytest.mark.slow
def test_serial_and_ray_give_the_same_bytes_for_convolutions(fresh):
    """Whose gradients depend on the number of threads: it must be the same on every way to run a cell."""
    found = []
    for executor in ("serial", "ray"):
        workspace = fresh()
        workspace.environment |= {"AWT_EXECUTOR": executor, "XLA_FLAGS": ""}
        workspace.edit(
            {
                "model.name": "cnn",
                "model.widths": [32, 64, 128],
                "kernel.tile_memory_gb": 0.1,
                "tickets.methods": ["magnitude"],
                "tickets.densities": [0.1],
                "retrain.epochs": 2,
                "retrain.batch": 64,
                "evaluate.attacks": {"pgd100": {"steps": 2}},
            }
        )
        workspace.dvc("repro")
        found.append(workspace.results())
    assert found[0] == found[1]
