"""`awt plan` against what the stages then do."""

import json
import sys

import pytest

WITH_CELLS = ("kernel", "mask", "retrain", "evaluate")


def awt(workspace, *words):
    return workspace.command(sys.executable, "-c", "from awt.commands.main import main; main()", *words)


def planned(workspace):
    done = awt(workspace, "plan", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {stage["name"]: stage for stage in found["stages"]}


@pytest.fixture(scope="module")
def after(finished):
    return planned(finished)


def test_the_cells_are_those_that_ran(finished, after):
    ran = {stage: len(finished.record(stage)["cells"]["cells"]) for stage in WITH_CELLS}
    assert {stage: after[stage]["cells"] for stage in WITH_CELLS} == ran


def test_what_ran_is_in_the_store(after):
    for stage in WITH_CELLS:
        assert (after[stage]["stored"], after[stage]["unknown"]) == (after[stage]["cells"], 0)
        assert after[stage]["store_bytes"] == 0


def test_before_anything_ran(fresh, finished, after):
    workspace = fresh()
    before = planned(workspace)
    assert {name: stage["cells"] for name, stage in before.items()} == {
        name: stage["cells"] for name, stage in after.items()
    }
    assert all(before[stage]["stored"] == 0 for stage in WITH_CELLS)
    assert before["mask"]["unknown"] == before["mask"]["cells"]
    assert all(before[stage]["seconds"] > after[stage]["seconds"] for stage in WITH_CELLS)
    assert not (workspace.folder / "artifacts").exists()
    written = sum(path.stat().st_size for path in (finished.path / ".awt" / "store" / "cells").rglob("*.np?"))
    expected = sum(before[stage]["store_bytes"] for stage in WITH_CELLS)
    assert written / 2 < expected < 3 * written


def test_a_change_is_new_work_from_its_stage_on(finished, copy_of):
    workspace = copy_of(finished)
    workspace.edit({"retrain.epochs": 25})
    found = planned(workspace)
    assert found["mask"]["stored"] == found["mask"]["cells"]
    assert found["retrain"]["stored"] == 0
    assert found["retrain"]["unknown"] == 0
    assert found["evaluate"]["unknown"] > 0
