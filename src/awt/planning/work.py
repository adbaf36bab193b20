"""What a cell costs, by the function that it calls and the parameters that it calls it with.

Operations are bounds from above: every point is taken to withstand every attack to the last step, and no unit of a
ticket to be cut off (awt.models.compact leaves such units out, where there are many weights). Memory and files are what
the arrays take that a cell holds and returns.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from awt.artifacts import sha256
from awt.models.compact import LEAST
from awt.params import Retrain
from awt.planning.attack_work import attack_flops, sanity_flops
from awt.planning.facts import FLOAT, OPTIMISER, PROCESS, Facts
from awt.planning.kernel_work import factor_flops, pair_flops, product_flops, view_flops
from awt.planning.search_work import attack_passes, search_flops, training_flops
from awt.runtime.cell import Cell
from awt.tickets.dense_side import HELD_OUT, HELD_OUT_BATCHES
from awt.training.cells import RETRAIN

ATTACK, SANITY = "awt.evaluation.attacked:attack", "awt.evaluation.sanity:check"
NARROWED = (RETRAIN, ATTACK, SANITY)  # what runs without the units that a mask cuts off
BUCKETS = 4  # batch sizes, of the eight there are, that networks' standing points are expected to fill
Given = Mapping[str, Any]  # a cell's parameters


class Cost(NamedTuple):
    """`programs` are what has to be compiled: by name, so that a worker compiles each once."""

    flops: float
    memory: float  # bytes, at the peak
    files: float  # bytes
    programs: tuple[str, ...] = ()


def cost(cell: Cell, facts: Facts) -> Cost:
    found = _COSTS[cell.function](cell.params, facts)
    return found._replace(programs=tuple(f"{program}{_shapes(cell, facts)}" for program in found.programs))


def _shapes(cell: Cell, facts: Facts) -> str:
    """What shapes a program is compiled for, beyond the cell's parameters: an attack is compiled for the batches that
    the standing points fill, and a ticket of a large network for the units that are left of it."""
    ticket = cell.inputs.get("model") or cell.inputs.get("mask")
    if ticket is None or cell.function not in NARROWED:
        return ""
    if facts.size.weights >= LEAST:
        return f" {ticket.sha256}"
    number = int(sha256(ticket.sha256.encode())[:8], 16)
    return f" {number % BUCKETS}" if cell.function == ATTACK else ""


def _program(name: str, params: Given, *changing: str) -> str:
    """What a compiled program is specialised to: all but what enters as numbers."""
    fixed = {key: value for key, value in params.items() if key not in ("seed", "density", *changing)}
    return f"{name} {json.dumps(fixed, sort_keys=True)}"


def _retrain(params: Given, facts: Facts) -> Cost:
    asked, program = Retrain.of(params["retrain"]), _program("retrain", params)
    return Cost(
        training_flops(asked, params["threat"]["eps"], facts),
        facts.memory(max(asked.batch, facts.data.counts["validation"])),
        FLOAT * facts.size.weights,
        (f"{program} step", f"{program} validation"),
    )


def _find_mask(params: Given, facts: Facts) -> Cost:
    search, method, program = params["search"], params["method"], _program("mask", params)
    flops = search_flops(method, search, params.get("threat", {}).get("eps", 0.0), facts)
    memory, files = facts.memory(search.get("batch", 1), copies=2), 1.0 * facts.size.weights
    if search.get("start") == "searched" or method in ("dns", "iwi"):
        files += FLOAT * facts.size.weights
    if method in ("awt", "concrete"):
        memory += _dense_bytes(search["batch"], facts)
    if method == "awt":
        memory += _views_bytes(search, search["gamma"] > 0, facts) + _probes_bytes(search["batch"], facts)
    programs = (f"{program} step", f"{program} distances") if method == "awt" else (program,) if flops else ()
    return Cost(flops, memory, files, programs)


def _initial(params: Given, facts: Facts) -> Cost:
    return Cost(0.0, facts.memory(0, copies=0), FLOAT * facts.size.weights, (_program("initial", params),))


def _dense_bytes(batch: int, facts: Facts) -> float:
    """Of dense.npz."""
    return FLOAT * facts.points(batch) * (facts.data.pixels + facts.classes)


def _views_bytes(search: Given, matched: bool, facts: Facts) -> float:
    """Of views.npz, for the search (by epoch, where they are fresh ones) and the curves."""
    row, batches = search["batch"] * facts.classes, facts.points(search["batch"]) // search["batch"]
    values = {"full": row**2, "probe": search["epochs"] * search["probes"] * row, "residual": row, "diagonal": row}
    matching = batches * values[search["estimator"]] if matched else 0
    return FLOAT * (matching + min(HELD_OUT_BATCHES, batches) * HELD_OUT.probes * row)


def _probes_bytes(batch: int, facts: Facts) -> float:
    """What the held-out probes hold at once: each the values of a pass and its derivative, and weights twice."""
    return FLOAT * HELD_OUT.probes * (1.5 * batch * facts.size.values + 2 * facts.size.weights)


def _dense_side(params: Given, facts: Facts) -> Cost:
    files = _dense_bytes(params["batch"], facts)
    passes = facts.points(params["batch"]) * (attack_passes(params, params["threat"]["eps"]) + 1)
    memory = facts.memory(params["batch"], copies=0) + 3 * files
    return Cost(passes * facts.forward, memory, files, (_program("dense side", params),))


def _views(params: Given, facts: Facts) -> Cost:
    points, files = facts.points(params["batch"]), _views_bytes(params, params["matched"], facts)
    flops = min(HELD_OUT_BATCHES * params["batch"], points) * product_flops(facts, HELD_OUT.probes)
    if params["matched"]:
        flops += (params["epochs"] if params["estimator"] == "probe" else 1) * points * view_flops(params, facts)
    memory = facts.memory(params["batch"]) + _dense_bytes(params["batch"], facts)
    memory += _probes_bytes(params["batch"], facts) + 2 * files
    return Cost(flops, memory, files, (_program("views", params),))


def _points(params: Given, facts: Facts) -> Cost:
    return Cost(0.0, facts.memory(0, copies=0), FLOAT * params["count"] * (facts.data.pixels + 1))


def _plan(params: Given, facts: Facts) -> Cost:
    """Nothing is computed, but the program of a tile compiled: for two sides, as a rule."""
    return Cost(0.0, PROCESS, 200.0, tuple(_program(f"plan {number}", params) for number in range(2)))


def _tile(params: Given, facts: Facts) -> Cost:
    """Every tile is computed as the largest, padded."""
    rows, columns = params["program"]
    flops = (rows + columns) * factor_flops(facts) + rows * columns * pair_flops(facts, params["shape"], masked=True)
    outputs = facts.classes**2 if params["shape"] == "full" else 1
    (top, bottom), (left, right) = params["rows"], params["columns"]
    files = FLOAT * (bottom - top) * (right - left) * outputs
    return Cost(flops, PROCESS + facts.tile_bytes, files, (_program("tile", params, "rows", "columns"),))


def _attack(params: Given, facts: Facts) -> Cost:
    start, stop = params["points"]
    number = stop - start
    flops = attack_flops(params["attack"], params["changes"], facts) if params["threat"]["eps"] else facts.forward
    program = _program(f"attack {number}", params, "points", "number")
    return Cost(number * flops, facts.memory(number, copies=0, weights=1), 13.0 * number + 1000, (program,))


def _sanity(params: Given, facts: Facts) -> Cost:
    points, program = min(params["points"], facts.data.counts["test"]), _program("sanity", params)
    memory = facts.memory(points, copies=0, weights=1)
    return Cost(points * sanity_flops(facts), memory, 1000.0, tuple(f"{program} {number}" for number in range(5)))


def _dynamics(params: Given, facts: Facts) -> Cost:
    """Two trainings; after each epoch attacks, Jacobians and grafts of both; two whole kernels before."""
    asked, classes = Retrain.of(params["retrain"]), facts.classes
    points = min(params["points"], facts.data.counts["test"])
    look = 2 * (2 * asked.attack.steps + 4 + classes + len(facts.size.layers))
    flops = 2 * training_flops(asked, params["threat"]["eps"], facts)
    flops += (asked.epochs + 1) * points * look * facts.forward
    flops += 2 * points * (2 * factor_flops(facts) + points * pair_flops(facts, "full", masked=True))
    memory = facts.memory(max(asked.batch, points * classes), weights=2 * OPTIMISER)
    program = _program("dynamics", params)
    return Cost(
        flops,
        memory + 3 * FLOAT * (points * classes) ** 2,
        200.0 * (asked.epochs + 1),
        (f"{program} step", f"{program} figures", f"{program} kernels"),
    )


_COSTS: dict[str, Callable[[Given, Facts], Cost]] = {
    "awt.kernels.dense_side:initial_weights": _initial,
    "awt.kernels.dense_side:dense_side": _dense_side,
    "awt.kernels.dense_side:kernel_views": _views,
    "awt.kernels.points:natural": _points,
    "awt.kernels.gram:plan": _plan,
    "awt.kernels.gram:tile": _tile,
    "awt.tickets.find:find_mask": _find_mask,
    RETRAIN: _retrain,
    ATTACK: _attack,
    SANITY: _sanity,
    "awt.evaluation.dynamics:dynamics": _dynamics,
}
