"""A cell's key has all the code that its computation loads: each kind of cell, alone in a fresh process.

A module that is loaded, and is neither in the key nor known to decide no value (MOVERS), could change a result behind
the key's back.
"""

import ast
import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import awt
from awt.artifacts import encode_json, read_json, write
from awt.attacks.registry import ATTACKS, resolved
from awt.models.architecture import architecture
from awt.models.network import decode_weights
from awt.models.registry import NETWORKS
from awt.options import as_json
from awt.runtime.cell import Cell, Source, from_json, to_json
from awt.runtime.checkpoints import Checkpoints
from awt.runtime.code import MOVERS
from awt.services.training import checkpoint_cell
from awt.tickets.method import method
from awt.tickets.registry import METHODS

RUN = """
import json, sys
from pathlib import Path
from awt.runtime.cell import from_json
from awt.runtime.executor import open_executor
from awt.runtime.options import Runtime
from awt.runtime.store import Store

cell = from_json(json.loads(Path(sys.argv[1]).read_bytes()))
executor = open_executor("alone", Runtime(executor="serial", device="cpu"), Store(Path(sys.argv[2])))
[entry] = executor.run([cell])
loaded = list(sys.modules)
from awt.runtime.code import is_own
told = {"key": entry.key, "digests": entry.digests, "loaded": [name for name in loaded if is_own(name)]}
print(json.dumps(told | {"code": list(cell.code.modules)}))
"""
FEW = {
    "gamma": 0.0,
    "epochs": 2,
    "batch": 32,
    "rounds": 2,
    "score_batches": 2,
    "mask_of": "awt",
    "attack": {"steps": 2},
}
LITTLE = {"steps": 3, "queries": 10}


def functions() -> list[str]:
    """Every function of awt that is a cell's, by its arguments."""
    named = []
    for path in sorted((Path(awt.__file__).parent / "cells").glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and [one.arg for one in node.args.args] == [
                "params",
                "inputs",
                "watch",
            ]:
                named.append(f"awt.cells.{path.stem}:{node.name}")
    return named


@pytest.fixture(scope="module")
def stored(finished: Any) -> dict[str, tuple[str, Cell]]:
    """A cell of each function in the finished store with its key; of searches and trainings one with most inputs."""
    cells: dict[str, tuple[str, Cell]] = {}
    for path in sorted(finished.work.glob("*/cell.json")):
        cell = from_json(read_json(path))
        if cell.function not in cells or len(cell.inputs) > len(cells[cell.function][1].inputs):
            cells[cell.function] = path.parent.name, cell
    return cells


@pytest.fixture
def entry(finished: Any, stored: dict[str, tuple[str, Cell]]) -> Callable[[str], Path]:
    """The folder of what a function's cell returned."""
    return lambda function: finished.work.parent / "cells" / stored[function][0][:2] / stored[function][0]


@pytest.fixture
def made(stored: dict[str, tuple[str, Cell]], entry: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Cell]:
    """Cells of functions that the experiment does without, of what it has."""
    _, attacked = stored["awt.cells.attack:attack"]
    _, trained = stored["awt.cells.retrain:retrain"]
    _, tile = stored["awt.cells.gram:tile"]
    _, side = stored["awt.cells.dense:dense_side"]
    judged = {name: attacked.params[name] for name in ("seed", "model", "threat")}
    points = {f"{one}": Source.of(entry("awt.cells.points:natural") / f"{one}.npy") for one in "xy"}

    def restored() -> Cell:
        weights = decode_weights((entry(trained.function) / "model.npz").read_bytes(), "model.npz")
        checkpoints = Checkpoints(tmp_path / "checkpoints")
        assert checkpoints.save(5, {"training": {"weights": weights}}, [], print)
        checkpoints.close()
        return checkpoint_cell(trained, tmp_path / "checkpoints" / "5")

    def adversarial() -> Cell:
        subject = {name: tile.params[name] for name in ("model", "data")}
        asked = {name: side.params[name] for name in ("seed", "threat", "attack")}
        inputs = points | {"weights": tile.inputs["weights"]}
        return Cell("points", "adversarial", "awt.cells.points:adversarial", subject | asked, inputs)

    def sanity() -> Cell:
        inputs = {name: attacked.inputs[name] for name in ("dataset", "model")}
        return Cell("evaluate", "sanity", "awt.cells.sanity:check", judged | {"points": 8}, inputs)

    def dynamics() -> Cell:
        asked = {"training": {**trained.params["training"], "epochs": 1}, "points": 8}
        return Cell("retrain", "dynamics", "awt.cells.dynamics:dynamics", judged | asked, trained.inputs)

    makers = {
        "awt.cells.checkpoint:restore": restored,
        "awt.cells.points:adversarial": adversarial,
        "awt.cells.sanity:check": sanity,
        "awt.cells.dynamics:dynamics": dynamics,
    }
    return lambda function: makers[function]()


@pytest.fixture
def run_alone(finished: Any, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs a cell in a fresh process with an empty store, and with folders of the user's own modules."""

    def run(cell: Cell, *folders: Path) -> dict[str, Any]:
        write(tmp_path / "cell.json", encode_json(to_json(cell)))
        path = os.pathsep.join(map(str, (finished.path / "src", *folders)))
        place = replace(finished, environment=finished.environment | {"PYTHONPATH": path})
        done = place.command(sys.executable, "-c", RUN, str(tmp_path / "cell.json"), str(tmp_path / "store"))
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def unaccounted(told: dict[str, Any]) -> set[str]:
    return set(told["loaded"]) - set(told["code"]) - set(MOVERS)


@pytest.mark.parametrize("function", functions())
def test_a_cell_loads_what_its_key_has(function, finished, stored, made, run_alone, entry):
    """And returns, with an empty store, what the experiment keeps under the same key."""
    if function not in stored:
        assert unaccounted(run_alone(made(function))) == set()
        return
    key, cell = stored[function]
    told = run_alone(cell)
    assert unaccounted(told) == set()
    assert (told["key"], told["digests"]) == (key, read_json(entry(function) / "meta.json")["digests"])


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_method_loads_what_the_key_of_its_cell_has(name, stored, run_alone, entry):
    _, cell = stored["awt.cells.mask:find_mask"]
    options = method(METHODS[name]).options
    asked = as_json(options(**{one.name: FEW[one.name] for one in fields(options) if one.name in FEW}))
    params = {**cell.params, "method": METHODS[name], "options": asked}
    params["density"] = 1.0 if name == "dense" else cell.params["density"]
    other = Source.of(entry("awt.cells.mask:find_mask") / "mask.npz")
    told = run_alone(replace(cell, params=params, inputs={**cell.inputs, "other": other}))
    assert unaccounted(told) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", {known.attack: name for name, known in ATTACKS.items()}.values())
def test_an_attack_loads_what_the_key_of_its_cell_has(name, stored, run_alone):
    _, cell = stored["awt.cells.attack:attack"]
    settings = resolved(name, {})[1]
    few = {key: value for key, value in LITTLE.items() if key in settings}
    reference, settings = resolved(name, few)
    told = run_alone(replace(cell, params={**cell.params, "attack": reference, "settings": settings}))
    assert unaccounted(told) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NETWORKS if architecture(NETWORKS[name]).halvings <= 3])
def test_a_network_loads_what_the_key_of_its_cell_has(name, stored, run_alone):
    """All but VGG-16, for which the pictures are too small."""
    _, cell = stored["awt.cells.dense:initial_weights"]
    widths = list(architecture(NETWORKS[name]).widths or (8,))
    model = {**cell.params["model"], "name": NETWORKS[name], "widths": widths}
    assert unaccounted(run_alone(replace(cell, params={**cell.params, "model": model}))) == set()


OWN = """
import importlib
import helper
from awt.tickets.masks import select, uniform
from awt.tickets.setting import Ticket

def find(setting):
    return importlib.import_module("late").ticket(setting, helper.SCOPE)
"""
LATE = """
from awt import apply_mask
from awt.tickets.masks import select, uniform
from awt.tickets.setting import Ticket

def ticket(setting, scope):
    mask = select(uniform(setting.network, setting.seed), setting.kept(scope))
    apply_mask(setting.initial, mask)
    return Ticket(mask)
"""


@pytest.mark.parametrize("late", ["late", "l{}e"])
def test_a_user_s_own_method_is_in_the_key_with_what_it_loads(late, stored, run_alone, tmp_path):
    """Unless it hides a module's name: then this test sees it."""
    hidden = f'"{late}".format("at")' if "{" in late else f'"{late}"'
    for name, text in {"own": OWN.replace('"late"', hidden), "helper": 'SCOPE = "layer"', "late": LATE}.items():
        (tmp_path / f"{name}.py").write_text(text)
    _, cell = stored["awt.cells.mask:find_mask"]
    told = run_alone(replace(cell, params={**cell.params, "method": "own:find", "options": {}}), tmp_path)
    assert {"own", "helper", "late"} <= set(told["loaded"])
    assert unaccounted(told) == ({"late"} if "{" in late else set())
