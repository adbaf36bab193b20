"""The `awt` command in an experiment that has run."""

import json
import sys


def awt(workspace, *words):
    return workspace.command(sys.executable, "-c", "from awt.cli import main; main()", *words)


def test_cells_and_logs(finished):
    listed = awt(finished, "cells").stdout.splitlines()
    assert len(listed) == sum(
        len(finished.record(s)["cells"]["cells"]) for s in ("kernel", "mask", "retrain", "evaluate")
    )
    assert all(" done " in line for line in listed)
    key = listed[0].split()[0]
    shown = awt(finished, "logs", key)
    assert shown.returncode == 0
    assert "done after" in shown.stdout
    assert "epoch=24" in awt(finished, "logs", "mask awt 0.1 seed 0").stdout


def test_rerun_gives_the_same_bytes(finished, copy_of):
    workspace = copy_of(finished)
    done = awt(workspace, "rerun", "retrain awt 0.1 seed 0", "--serial")
    assert done.returncode == 0, done.stderr
    assert "same bytes as the store's result" in done.stdout


def test_mistakes(finished):
    for words, message in [
        (["logs", "absent"], "no cell 'absent'"),
        (["logs", ""], "is not one cell but"),
    ]:
        done = awt(finished, *words)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_check(finished, copy_of):
    assert awt(finished, "check").returncode == 0
    workspace = copy_of(finished)
    workspace.edit({"threat.eps": -1})
    done = awt(workspace, "check")
    assert done.returncode == 2
    assert "threat.eps" in done.stderr


def test_gc_drops_only_what_no_record_names(finished, copy_of):
    workspace = copy_of(finished)
    workspace.edit({"evaluate.attack.steps": 4})
    assert workspace.stage("evaluate").returncode == 0
    assert "0 cells could be dropped" in awt(workspace, "store", "gc", "--dry-run").stdout  # they are young
    assert "10 cells could be dropped" in awt(workspace, "store", "gc", "--days", "0", "--dry-run").stdout
    assert "dropped 10 cells" in awt(workspace, "store", "gc", "--days", "0").stdout
    assert workspace.stage("evaluate").returncode == 0
    assert workspace.record("evaluate")["cells"]["computed"] == 0
    assert json.loads((workspace.folder / "artifacts" / "metrics.json").read_text())
