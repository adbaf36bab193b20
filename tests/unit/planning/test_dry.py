"""A dry run against the real one, of a workflow from outside awt: two stages, the second of which reads what the first
assembled."""

import sys

import pytest

from awt.artifacts import read_json
from awt.planning.dry import Lookout, dry_run
from awt.runtime.executor import open_executor
from awt.runtime.store import Store
from awt.workflows.experiment import experiment
from awt.workflows.pipeline import dvc_yaml
from awt.workflows.running import run_stage

MODULE = """
import json
from awt.options import options
from awt.params.common import Common
from awt.runtime.cell import Cell
from awt.workflows.workflow import Outs, Stage, Workflow


@options
class Params(Common):
    numbers: tuple[int, ...]
    peeks: bool = False


def double(params, inputs, watch):
    return {"value.json": json.dumps(2 * params["number"]).encode()}


def add(params, inputs, watch):
    return {"value.json": json.dumps(sum(map(json.loads, map(bytes, inputs.values())))).encode()}


def cell(function, label, params, inputs={}):
    return Cell("own", label, f"{__name__}:{function}", params, inputs)


def first(run, params, inputs):
    doubled = run([cell("double", f"double {number}", {"number": number}) for number in params.numbers])
    sources = {str(number): one.source("value.json") for number, one in enumerate(doubled)}
    if params.peeks:
        json.loads(doubled[0].read("value.json"))
    [total] = run([cell("add", "total", {}, sources)])
    return Outs(
        {f"artifacts/first/{number}.json": source for number, source in sources.items()},
        lambda: {"artifacts/first/total.json": total.read("value.json")},
    )


def second(run, params, inputs):
    names = [f"artifacts/first/{number}.json" for number in range(len(params.numbers))]
    cells = [cell("add", f"copy of {name}", {}, {"one": inputs.source(name)}) for name in names]
    cells += [cell("add", "copy of the total", {}, {"one": inputs.source("artifacts/first/total.json")})]
    run(cells)
    total = inputs.json("artifacts/first/total.json")
    run([cell("double", f"double {number}", {"number": number}) for number in range(total)])
    return Outs(rest=lambda: {"artifacts/second.json": b"{}"})


WORKFLOW = Workflow(
    "own",
    Params,
    (
        Stage("first", "Doubles.", f"{__name__}:first", ("numbers", "peeks"), ("artifacts/first",)),
        Stage("second", "Reads.", f"{__name__}:second", (), ("artifacts/second.json",), ("artifacts/first",)),
    ),
)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The experiment of the workflow, with parameters, in the current folder."""
    name = f"dry_{tmp_path.name.replace('-', '_')}"  # Python remembers modules: each test has its own
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("awt.runtime.worker.pin", lambda count: None)  # the test process keeps its cores
    monkeypatch.delenv("AWT_STORE", raising=False)
    monkeypatch.setenv("AWT_EXECUTOR", "serial")

    def make(**params):
        given = {"workflow": f"{name}:WORKFLOW", "numbers": [1, 2]} | params
        (tmp_path / "params.yaml").write_text("".join(f"{key}: {value}\n" for key, value in given.items()))
        asked = experiment(tmp_path)
        (tmp_path / "dvc.yaml").write_text(dvc_yaml(asked.workflow))
        return asked

    return make


def foresee(asked, store=None):
    """The stages' dry runs, by name; nothing may be computed for them."""
    executor = open_executor("plan", asked.runtime, asked.store())
    plan = dry_run(asked, Lookout(executor.key, store or asked.store(), compute=None))
    return {run.stage.name: run for run in plan.runs}


def states(run):
    return [one.state for one in run.cells]


def asked_for(asked, stage):
    """Keys of the cells that a stage asked for when it ran."""
    record = read_json(asked.folder / "artifacts" / "records" / f"{stage}.json")
    return {cell["key"] for cell in record["cells"]["cells"]}


def test_before_anything_ran(own):
    runs = foresee(own())
    assert states(runs["first"]) == ["missing", "missing", "unknown"]
    assert states(runs["second"]) == ["unknown"] * 3
    assert not runs["first"].unforeseen
    assert "run the stage first first" in runs["second"].unforeseen


def test_a_file_that_is_up_to_date_is_read(own):
    asked = own()
    run_stage(asked, "first")
    runs = foresee(asked)
    assert states(runs["first"]) == ["stored"] * 3
    assert states(runs["second"]) == ["missing"] * 4 + ["stored"] * 2 + ["missing"] * 3
    assert not runs["second"].unforeseen


def test_the_real_run_asks_for_the_cells_that_were_foreseen(own):
    asked = own()
    before = {one.key for one in foresee(asked)["first"].cells if one.state != "unknown"}
    run_stage(asked, "first")
    assert before < asked_for(asked, "first")
    foreseen = {one.key for one in foresee(asked)["second"].cells}
    run_stage(asked, "second")
    assert foreseen == asked_for(asked, "second")
    runs = foresee(asked)
    assert {name: {one.key for one in run.cells} for name, run in runs.items()} == {
        name: asked_for(asked, name) for name in ("first", "second")
    }
    assert {state for run in runs.values() for state in states(run)} == {"stored"}


@pytest.mark.parametrize("change", ["params", "file", "store"])
def test_a_file_that_would_be_written_anew_is_not_read(own, change, tmp_path):
    asked, store = own(), None
    run_stage(asked, "first")
    if change == "params":
        asked = own(numbers=[1, 3])
    elif change == "file":
        (asked.folder / "artifacts" / "first" / "total.json").write_text("7")
    else:
        store = Store(tmp_path / "empty")
    runs = foresee(asked, store)
    assert "run the stage first first" in runs["second"].unforeseen
    if change == "params":
        assert states(runs["first"]) == ["stored", "missing", "unknown"]


def test_a_stage_that_reads_a_cell_of_its_own(own):
    asked = own(peeks="true")
    runs = foresee(asked)
    assert states(runs["first"]) == ["missing", "missing"]
    assert "it reads value.json of the cell 'double 1', which is not in the store" in runs["first"].unforeseen
    assert states(runs["second"]) == []
    assert runs["second"].unforeseen
    run_stage(asked, "first")
    assert not foresee(asked)["first"].unforeseen


def test_plans_are_computed(experiment, lookout):
    """Stages of Gram matrices go by the sides that plan cells choose."""
    asked = experiment()
    plan = dry_run(asked, lookout(asked)[0])
    plans = [one for one in plan.cells if one.cell.kind == "plan"]
    assert {one.state for one in plans} == {"missing"}
    assert sum(one.cell.kind == "tile" for one in plan.cells) == 3 * (2 + 2 * 26)
    assert plan.data["counts"]["train"] == 1294
