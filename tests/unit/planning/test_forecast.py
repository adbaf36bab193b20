"""The forecast: its counts, its refusals, its words; with rates that are given instead of measured."""

import json
import sys

import pytest

from awt.artifacts import encode_json
from awt.commands import main
from awt.commands import plan as plan_command
from awt.errors import InputError
from awt.options import as_json
from awt.planning import forecast
from awt.planning.calibration import Rate
from awt.planning.dry import Foreseen, Plan, StageRun, dry_run
from awt.planning.forecast import Place, StageForecast, sum_up, weigh
from awt.planning.past import Past
from awt.runtime.cell import Cell, to_json
from awt.runtime.machines import Machine
from awt.workflows.workflow import Stage

MACHINE = Machine(2, 0, 8e9)


@pytest.fixture
def foresee(experiment, lookout):
    """The forecast of an experiment with an empty store, and its stages by name."""

    def make(changes=None, machine=MACHINE, flops=1e10):
        asked = experiment(changes)
        looking, executor = lookout(asked)
        plan = dry_run(asked, looking)
        place = Place(executor, [machine], [Rate(1, flops, 2.0, 1.0), Rate(2, 2 * flops, 2.0, 1.0)])
        found = sum_up(plan, weigh(plan, executor, Past(looking.store, "cpu")), place)
        return {stage.name: stage for stage in found.stages}, found

    return make


def test_cells_by_stage(foresee):
    stages, found = foresee()
    seeds, tickets, tiles = 2, 2 * (4 * 3 + 1), 3
    kernel = seeds + seeds + 2 * (2 * seeds) + 1 + 1 + seeds * tiles
    evaluate = 5 * tickets + tickets + 1 + 1 + 2 * tickets * tiles
    assert {name: stage.cells for name, stage in stages.items()} == {
        "prepare": 0, "kernel": kernel, "mask": tickets, "retrain": tickets, "evaluate": evaluate, "report": 0
    }  # fmt: skip
    assert found.total.cells == kernel + 2 * tickets + evaluate
    assert found.total.untimed == 0
    assert found.total.is_whole


@pytest.mark.parametrize(
    ("change", "stage", "more"),
    [
        ({"evaluate.chunk_points": 100}, "evaluate", 3 * 5 * 26),
        ({"evaluate.dynamics_points": 10}, "evaluate", 24),
        ({"evaluate.sanity_points": 0}, "evaluate", -26),
        ({"tickets.methods": ["awt", "awt_paper", "random", "magnitude"]}, "mask", -2),
    ],
)
def test_what_parameters_change(foresee, change, stage, more):
    assert foresee(change)[0][stage].cells == foresee()[0][stage].cells + more


def test_more_cores_take_less_time(foresee):
    one, four = (foresee(machine=Machine(cpus, 0, 8e9), flops=1e8)[1].total.seconds for cpus in (1, 4))
    assert one / 4.2 < four < one / 2
    serial = foresee({"runtime.executor": "serial"}, machine=Machine(4, 0, 8e9), flops=1e8)[1].total.seconds
    assert serial == pytest.approx(one, rel=0.01)


def test_time_is_the_work_at_the_rate(foresee):
    slow, fast = (foresee(flops=flops)[0]["retrain"] for flops in (1e8, 1e9))
    assert slow.seconds - fast.seconds == pytest.approx(slow.flops / 2 * (1e-8 - 1e-9), rel=0.05)


def test_a_grid_that_takes_after_another(foresee):
    recipes = {"like_awt": {"method": "shuffled", "mask_of": "awt"}, "iwi_too": {"method": "iwi"}}
    methods = ["awt", "like_awt", "iwi_too", "dense"]
    assert foresee({"tickets.methods": methods, "tickets.recipes": recipes})[0]["mask"].cells == 2 * (3 * 3 + 1)


def test_keeping_examples_takes_disk(foresee):
    without, kept = (foresee({"evaluate.keep_examples": keep})[0]["evaluate"] for keep in (False, True))
    assert (kept.cells, kept.flops) == (without.cells, without.flops)
    assert kept.store_bytes - without.store_bytes > 26 * 359 * 64 * 4


def test_memory_that_no_machine_has(foresee):
    with pytest.raises(InputError, match=r"of memory, more than the 0\.1 GB"):
        foresee(machine=Machine(2, 0, 1e8))


def test_cells_that_fit_only_alone_are_pointed_out(foresee):
    notes = foresee(machine=Machine(64, 0, 1e9))[1].notes
    assert any(note.startswith("mask: 26 cells at once may take") for note in notes)


@pytest.fixture
def own_cells(experiment, lookout):
    """The forecast of cells of a function without a cost, after some that are finished: by the parameters of each, how
    many seconds those took."""

    def make(asked_for, finished):
        looking, executor = lookout(experiment())

        def cell(seed, size):
            return Cell("own", f"{seed} {size}", "awt.planning.rehearsal:rest", {"seed": seed, "size": size})

        for number, ((seed, size), seconds) in enumerate(finished.items()):
            about = {"cell": to_json(cell(seed, size)), "seconds": seconds, "threads": 1}
            looking.store.put(f"{number:064}", {}, about | {"surroundings": {"platform": "cpu"}})
        wave = [Foreseen(cell(*one), str(one), "missing", None) for one in asked_for]
        plan = Plan([StageRun(Stage("own", "", "", (), ()), [wave])], None)
        works = weigh(plan, executor, Past(looking.store, "cpu"))
        return sum_up(plan, works, Place(executor, [Machine(1, 0, 8e9)]))

    return make


def test_cells_last_as_long_as_those_that_differ_in_seed(own_cells):
    found = own_cells([(2, "small"), (3, "large")], {(0, "small"): 10.0, (1, "small"): 12.0, (0, "large"): 100.0})
    assert found.total.seconds == pytest.approx(11 + 100 + 2 * forecast.CELL_SECONDS + forecast.STAGE_SECONDS["ray"])
    assert any("2 cells are taken to last as long" in note for note in found.notes)


def test_cells_of_no_known_cost_last_as_long_as_others_of_their_function(own_cells):
    found = own_cells([(0, "huge")], {(0, "small"): 10.0, (1, "small"): 12.0, (0, "large"): 100.0})
    assert found.total.seconds == pytest.approx(12 + forecast.CELL_SECONDS + forecast.STAGE_SECONDS["ray"])


def test_cells_that_nothing_is_known_of_are_said_so(own_cells):
    found = own_cells([(0, "small"), (1, "small")], {})
    assert found.total.untimed == 2
    assert any("2 cells of awt.planning.rehearsal:rest have no known cost" in note for note in found.notes)


@pytest.fixture
def awt_plan(monkeypatch, capsys, tmp_path, experiment):
    """Runs `awt plan` in this process, without measuring; returns its exit code and what it said."""
    (tmp_path / "mine").mkdir()
    monkeypatch.delenv("AWT_EXECUTOR", raising=False)

    def compute(executor, cells):
        chosen = encode_json({"side": 64, "bytes": 1e6, "engine": "exact"})
        return [executor.store.put(executor.key(cell), {"plan.json": chosen}, {}) for cell in cells]

    def run(*words, changes=None):
        asked = experiment({"runtime.store": str(tmp_path / "store")} | (changes or {}))
        (tmp_path / "mine" / "params.yaml").write_text(json.dumps(as_json(asked.params)))
        monkeypatch.setattr(forecast, "compute", compute)
        monkeypatch.setattr(forecast, "calibrate", lambda *_: [Rate(1, 5e10, 2.0, 0.5)])
        monkeypatch.setattr(sys, "argv", ["awt", "plan", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main.main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return run


def test_the_table(awt_plan, tmp_path):
    code, out, err = awt_plan(tmp_path / "mine")
    assert (code, err) == (0, "")
    head, *lines = out.splitlines()
    assert head.split() == ["stage", "cells", "stored", "FLOPs", "memory", "of", "a", "cell", "outs", "store", "time"]
    assert [line.split()[0] for line in lines[:7]] == [
        "prepare", "kernel", "mask", "retrain", "evaluate", "report", "total"
    ]  # fmt: skip
    assert lines[2].split()[:3] == ["mask", "26", "unknown"]
    assert "50 GFLOP/s in training" in out
    assert "this machine: " in out
    assert "upper bounds: every point withstands every attack, no unit of a ticket is cut off" in out
    assert "the machine is busy: the calibration got 50% of a core" in out


def test_json(awt_plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = awt_plan("mine", "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) == {"stages", "total", "machines", "rates", "notes"}
    assert found["total"]["cells"] == sum(stage["cells"] for stage in found["stages"])
    assert found["total"]["seconds"] == pytest.approx(sum(stage["seconds"] for stage in found["stages"]))
    assert found["rates"][0]["flops"] == 5e10
    assert not (tmp_path / "mine" / "artifacts").exists()


def test_what_is_refused(awt_plan, tmp_path):
    for changes, message in [
        ({"runtime.device": "gpu"}, "runtime.device: gpu, but this machine has no GPU"),
        ({"runtime.resources": {"tile": {"cpus": 4096}}}, "a tile cell asks for 4096 CPUs"),
        ({"tickets.shared.batch": 5000}, "5000 is more than the 1294 training points"),
    ]:
        code, out, err = awt_plan(tmp_path / "mine", changes=changes)
        assert (code, out) == (2, "")
        assert message in err
    assert "has no params.yaml" in awt_plan(tmp_path)[2]


def test_what_is_not_known_in_full_is_marked():
    row = plan_command._row(StageForecast("own", cells=3, seconds=5.0, is_whole=False))
    assert (row[1], row[-1]) == ("3+", "5 s or more")


def test_figures_are_readable():
    assert [plan_command._seconds(number) for number in (3.2, 119, 600, 9000)] == ["3 s", "119 s", "10 min", "2.5 h"]
    assert [plan_command._bytes(number) for number in (0, 1500, 2.5e9, 3e12)] == ["0 B", "1.5 kB", "2.5 GB", "3 TB"]
