"""Whatever dies, and wherever: the run goes on, and ends with the bytes of an undisturbed one."""

import os
import signal
import subprocess
import sys

import pytest

ALWAYS = {"runtime.checkpoint_seconds": 0}  # between any two pieces of a loop


def test_serial_and_ray_give_the_same_bytes(finished, fresh):
    workspace = fresh()
    workspace.environment["AWT_EXECUTOR"] = "ray"
    workspace.dvc("repro")
    assert workspace.record("mask")["executor"] == "ray"
    assert workspace.results() == finished.results()


def test_a_killed_driver_loses_nothing(finished, fresh):
    """kill -9 of `dvc repro` in the middle of mask, and again of retrain."""
    workspace = fresh()
    workspace.environment["AWT_EXECUTOR"] = "ray"
    workspace.edit(ALWAYS)
    for stage in ("mask", "retrain"):
        script = f"stages/{stage}.py"
        process = workspace.start(sys.executable, "-m", "dvc", "repro")
        workspace.wait_for(lambda: workspace.checkpoints() and _is_running(script, workspace), process)  # noqa: B023
        workspace.kill(process)
        assert not (workspace.folder / "artifacts" / "records" / f"{stage}.json").exists()
    workspace.dvc("repro")
    assert workspace.logs().count("resumed at step") >= 2
    assert workspace.results() == finished.results()


def _is_running(script: str, workspace) -> bool:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return script in listed


def test_a_killed_ray_worker_is_replaced(finished, copy_of):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment["AWT_EXECUTOR"] = "ray"
    workspace.edit(ALWAYS)
    process = workspace.start(sys.executable, "stages/mask.py")
    worker, log = workspace.worker(process)
    os.kill(worker, signal.SIGKILL)
    output = workspace.output(process)
    assert process.returncode == 0, output
    assert workspace.record("mask")["cells"]["retried"] == 1
    assert "resumed at step" in log.read_text()
    assert workspace.results() == finished.results()


@pytest.mark.parametrize("executor", ["serial", "ray"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_checkpoints_first(finished, copy_of, executor, number):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment["AWT_EXECUTOR"] = executor
    workspace.edit({"retrain.epochs": 3000, "runtime.checkpoint_seconds": 3600})
    process = workspace.start(sys.executable, "stages/retrain.py")
    workspace.wait_for(lambda: "epoch=1 " in workspace.logs(), process)
    if executor == "ray":
        os.kill(process.pid, number)  # Ray's own processes ignore a terminal's Ctrl-C
        output = workspace.output(process)
    else:
        output = workspace.kill(process, number)
    assert process.returncode == 1
    assert "interrupted; finished cells and checkpoints are kept" in output
    assert "Traceback" not in output
    assert workspace.checkpoints()


@pytest.fixture
def small_disk(tmp_path):
    """Makes a disk of a size in a folder, and makes it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options):
        return subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False
        )

    def disk(size):
        if folder.is_mount():
            assert mount(f"remount,size={size}").returncode == 0
        elif mount(f"size={size}").returncode != 0:
            pytest.skip("only root can mount a small disk to fill")
        return folder

    yield disk
    if folder.is_mount():
        subprocess.run(["umount", folder], check=True)


def fails_for_want_of_room(workspace, stage):
    done = workspace.stage(stage)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_stops_the_stage_and_nothing_else(finished, copy_of, small_disk):
    workspace = copy_of(finished)
    workspace.environment["AWT_STORE"] = str(small_disk("300k") / "store")
    fails_for_want_of_room(workspace, "kernel")
    assert workspace.results() == finished.results()
    small_disk("200m")
    assert workspace.stage("kernel").returncode == 0
    assert workspace.record("kernel")["cells"]["reused"] > 0
    assert workspace.results() == finished.results()


def test_a_full_disk_during_a_checkpoint_is_said_and_survived(finished, copy_of, small_disk):
    workspace = copy_of(finished)
    workspace.edit(ALWAYS)
    workspace.environment["AWT_STORE"] = str(small_disk("100k") / "store")
    fails_for_want_of_room(workspace, "retrain")
    small_disk("200m")
    assert workspace.stage("retrain").returncode == 0
    assert workspace.results() == finished.results()


@pytest.mark.slow
def test_serial_and_ray_give_the_same_bytes_for_convolutions(fresh):
    """Whose gradients depend on the number of threads: it must be the same on every way to run a cell."""
    found = []
    for executor in ("serial", "ray"):
        workspace = fresh()
        workspace.environment["AWT_EXECUTOR"] = executor
        workspace.edit(
            {
                "model.name": "cnn",
                "model.widths": [32, 64, 128],
                "search.methods": ["awt"],
                "search.densities": [0.1],
                "search.epochs": 2,
                "retrain.epochs": 2,
                "retrain.batch": 64,
                "evaluate.attack.steps": 2,
            }
        )
        workspace.dvc("repro")
        found.append(workspace.results())
    assert found[0] == found[1]
