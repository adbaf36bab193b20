"""`awt plan` against what the stages then do."""

import json
import sys
from functools import partial

import pytest

from awt.planning.dry import Lookout, dry_run
from awt.planning.scratch import compute
from awt.runtime.executor import open_executor
from awt.runtime.store import Store
from awt.workflows.experiment import experiment

WITH_CELLS = ("kernel", "mask", "retrain", "evaluate")


def awt(workspace, *words):
    return workspace.command(sys.executable, "-c", "from awt.commands.main import main; main()", *words)


def planned(workspace):
    done = awt(workspace, "plan", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {stage["name"]: stage for stage in found["stages"]}, found["rates"]


@pytest.fixture(scope="module")
def plan_after(finished):
    return planned(finished)


@pytest.fixture(scope="module")
def after(plan_after):
    return plan_after[0]


def test_the_cells_are_those_that_ran(finished, after):
    ran = {stage: len(finished.record(stage)["cells"]["cells"]) for stage in WITH_CELLS}
    assert {stage: after[stage]["cells"] for stage in WITH_CELLS} == ran


def test_what_ran_is_in_the_store(after):
    for stage in WITH_CELLS:
        assert (after[stage]["stored"], after[stage]["unknown"]) == (after[stage]["cells"], 0)
        assert after[stage]["store_bytes"] == 0


def test_where_all_is_stored_nothing_is_measured(plan_after):
    assert plan_after[1] == []


def foreseen(workspace, store, monkeypatch):
    """The cells of the stages' dry runs, by stage."""
    monkeypatch.chdir(workspace.folder)
    monkeypatch.setenv("AWT_EXECUTOR", "serial")
    monkeypatch.delenv("AWT_STORE", raising=False)
    asked = experiment()
    scratch = open_executor("plan", asked.runtime, Store(store.root.with_name("scratch")))
    plan = dry_run(asked, Lookout(scratch.key, store, partial(compute, scratch)))
    return {run.stage.name: list(run.cells) for run in plan.runs}


def test_the_dry_run_asks_for_the_cells_of_the_real_one(finished, monkeypatch):
    cells = foreseen(finished, Store(finished.path / ".awt" / "store"), monkeypatch)
    for stage in WITH_CELLS:
        asked_for = [cell["key"] for cell in finished.record(stage)["cells"]["cells"]]
        assert {one.key for one in cells[stage]} == set(asked_for)
        assert {one.state for one in cells[stage]} == {"stored"}


@pytest.mark.parametrize("kind", ["dense", "mask", "evaluate"])
def test_with_a_part_of_the_store_it_asks_for_a_part_of_the_cells(finished, copy_of, monkeypatch, kind):
    """What is known is right, and all that depends on what was dropped is told apart."""
    workspace = copy_of(finished)
    store = Store(workspace.path / ".awt" / "store")
    whole = foreseen(workspace, store, monkeypatch)
    for one in (one for cells in whole.values() for one in cells if one.cell.kind == kind):
        store.drop(one.key)
    cells = foreseen(workspace, store, monkeypatch)
    for stage in WITH_CELLS:
        known = {one.key for one in cells[stage] if one.state != "unknown"}
        assert known <= {one.key for one in whole[stage]}
        assert len(cells[stage]) == len(whole[stage])
        assert {one.key for one in cells[stage] if one.state == "stored"} == {
            one.key for one in whole[stage] if one.cell.kind != kind and one.key in known
        }


def test_before_anything_ran(fresh, finished, after):
    workspace = fresh()
    before, rates = planned(workspace)
    assert rates[0]["flops"] > 0
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
    found, _ = planned(workspace)
    assert found["mask"]["stored"] == found["mask"]["cells"]
    assert found["retrain"]["stored"] == 0
    assert found["retrain"]["unknown"] == 0
    assert found["evaluate"]["unknown"] > 0
