"""The forecast: its counts, its refusals, its words; with rates that are given instead of measured."""

import json
import sys

import pytest

from awt import cli, plan_command
from awt.errors import InputError
from awt.planning import calibration, forecast
from awt.planning.ahead import Experiment
from awt.planning.calibration import Rate, Tiles
from awt.planning.forecast import Place, StageForecast, check_disk, check_memory, check_resources
from awt.planning.outline import outline
from awt.runtime.executor import open_executor
from awt.runtime.store import Store
from awt.runtime.machines import Machine

MACHINE = Machine(2, 0, 8e9)


@pytest.fixture(autouse=True)
def on_this_machine(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.fixture
def place(tmp_path):
    """A machine of two cores, and an empty store."""

    def make(params, machine=MACHINE, flops=1e10):
        store = Store(tmp_path / "store")
        executor = open_executor("plan", params.runtime, store, "")
        return Place(executor, store, [machine], [Rate(1, flops, 2.0, 1.0), Rate(2, 2 * flops, 2.0, 1.0)])

    return make


@pytest.fixture
def foresee(place, tmp_path):
    def make(params, **options):
        data = outline(params.data, tmp_path)
        tiles = {cell.label: Tiles(64, 1e6) for cell in Experiment(params, data).plans()}
        found = forecast.forecast(Experiment(params, data, tiles), place(params, **options))
        return {stage.name: stage for stage in found.stages}, found

    return make


def test_cells_by_stage(params, foresee):
    stages, found = foresee(params())
    seeds, tickets, tiles = 2, 2 * (4 * 3 + 1), 3
    kernel = seeds + seeds + 2 * (2 * seeds) + 1 + 1 + seeds * tiles
    evaluate = 5 * tickets + tickets + 1 + 1 + 2 * tickets * tiles
    assert {name: stage.cells for name, stage in stages.items()} == {
        "prepare": 0, "kernel": kernel, "mask": tickets, "retrain": tickets, "evaluate": evaluate, "report": 0
    }  # fmt: skip
    assert found.total.cells == kernel + 2 * tickets + evaluate


@pytest.mark.parametrize(
    ("change", "stage", "more"),
    [
        ({"evaluate.chunk": 100}, "evaluate", 3 * 5 * 26),
        ({"evaluate.dynamics": 10}, "evaluate", 24),
        ({"evaluate.sanity": 0}, "evaluate", -26),
        ({"search.methods": ["awt", "awt_paper", "random", "magnitude"]}, "mask", -2),
    ],
)
def test_what_parameters_change(params, foresee, change, stage, more):
    assert foresee(params(change))[0][stage].cells == foresee(params())[0][stage].cells + more


def test_more_cores_take_less_time(params, foresee):
    one, four = (foresee(params(), machine=Machine(cpus, 0, 8e9), flops=1e8)[1].total.seconds for cpus in (1, 4))
    assert one / 4.2 < four < one / 2
    serial = foresee(params({"runtime.executor": "serial"}), machine=Machine(4, 0, 8e9), flops=1e8)[1].total.seconds
    assert serial == pytest.approx(one, rel=0.01)


def test_time_is_the_work_at_the_rate(params, foresee):
    slow, fast = (foresee(params(), flops=flops)[0]["retrain"] for flops in (1e8, 1e9))
    assert slow.seconds - fast.seconds == pytest.approx(slow.flops / 2 * (1e-8 - 1e-9), rel=0.05)


def test_a_grid_that_takes_after_another(params, foresee):
    variants = {"like_awt": {"method": "shuffled", "like": "awt"}, "iwi_too": {"method": "iwi"}}
    asked = params({"search.methods": ["awt", "like_awt", "iwi_too", "dense"], "search.variants": variants})
    assert foresee(asked)[0]["mask"].cells == 2 * (3 * 3 + 1)


def test_resources_that_no_machine_has(params, place):
    for change, message in [
        ({"runtime.resources": {"retrain": {"cpus": 3}}}, r"a retrain cell asks for 3 CPUs, 0 GPUs, 0 GB"),
        ({"runtime.resources": {"mask": {"gpus": 1}}}, r"a mask cell asks for 1 CPUs, 1 GPUs"),
        ({"runtime.resources": {"default": {"memory_gb": 100}}}, r"100 GB, which no machine has \(2 CPUs, 0 GPUs"),
    ]:
        with pytest.raises(InputError, match=message):
            check_resources(place(params(change)).executor, [MACHINE])
    check_resources(place(params()).executor, [MACHINE])


def test_memory_that_no_machine_has(params, foresee):
    with pytest.raises(InputError, match=r"a cell of the retrain stage takes 9 GB .*smaller retrain\.batch"):
        check_memory([StageForecast("retrain", cells=1, memory_bytes=9e9)], [MACHINE, Machine(64, 0, 1e9)])
    with pytest.raises(InputError, match=r"of memory, more than the 0\.1 GB"):
        foresee(params(), machine=Machine(2, 0, 1e8))


def test_disk_that_is_not_free(tmp_path):
    stages = [StageForecast("kernel", outs_bytes=1e15), StageForecast("mask", store_bytes=1e18)]
    with pytest.raises(InputError, match=r"\(store and repository\): the experiment takes 1e\+09 GB of disk"):
        check_disk(stages, tmp_path, tmp_path)
    check_disk([StageForecast("kernel", outs_bytes=1)], tmp_path, tmp_path)


def test_cells_that_fit_only_alone_are_pointed_out(params, foresee):
    notes = foresee(params(), machine=Machine(64, 0, 1e9))[1].notes
    assert any(note.startswith("mask: 64 cells at once may take") for note in notes)


@pytest.fixture
def awt_plan(monkeypatch, capsys, tmp_path, params):
    """Runs `awt plan` in this process, without measuring; returns its exit code and what it said."""
    (tmp_path / "mine").mkdir()

    def run(*words, changes=None):
        path = tmp_path / "mine" / "params.yaml"
        path.write_text(json.dumps(params({"runtime.store": str(tmp_path / "store")} | (changes or {})).as_json()))
        monkeypatch.setattr(
            calibration, "calibrate", lambda *_: ([Rate(1, 5e10, 2.0, 0.5)], [Tiles(64, 1e6), Tiles(64, 1e6)])
        )
        monkeypatch.setattr(sys, "argv", ["awt", "plan", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
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
        ({"search.batch": 5000}, "search.batch: 5000 is more than the 1294 training points"),
    ]:
        code, out, err = awt_plan(tmp_path / "mine", changes=changes)
        assert (code, out) == (2, "")
        assert message in err
    assert "has no params.yaml" in awt_plan(tmp_path)[2]


def test_figures_are_readable():
    assert [plan_command._seconds(number) for number in (3.2, 119, 600, 9000)] == ["3 s", "119 s", "10 min", "2.5 h"]
    assert [plan_command._bytes(number) for number in (0, 1500, 2.5e9, 3e12)] == ["0 B", "1.5 kB", "2.5 GB", "3 TB"]
