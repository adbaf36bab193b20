"""What a cell costs, by the function that it calls and the parameters that it calls it with.

Operations are bounds from above: every point is taken to withstand every attack to the last step, and no unit of a
ticket to be cut off (awt.models.compact leaves such units out, where there are many weights). Memory and files are what
the arrays take that a cell holds and returns.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from awt.artifacts import sha256
from awt.attacks.apgd import Apgd
from awt.attacks.attacker import make
from awt.attacks.pgd import Attack, Pgd
from awt.evaluation.sanity import EPS, STEPS
from awt.kernels.cost import factor_flops, pair_flops, product_flops, view_flops
from awt.models.compact import LEAST
from awt.options import from_json
from awt.planning.facts import FLOAT, OPTIMISER, PROCESS, Facts
from awt.runtime.cell import Cell
from awt.services.training import RETRAIN
from awt.tickets.dense_side import HELD_OUT, HELD_OUT_BATCHES
from awt.tickets.method import Method, Views, method
from awt.training.cost import attack_passes, training_flops
from awt.training.options import Training

ATTACK, SANITY, PLAN = "awt.cells.attack:attack", "awt.cells.sanity:check", "awt.cells.gram:plan"
NARROWED = (RETRAIN, ATTACK, SANITY)  # what runs without the units that a mask cuts off
BUCKETS = 4  # batch sizes, of the eight there are, that networks' standing points are expected to fill
CHECKPOINTS = 2 * 3  # two of them, each the weights and Adam's two
Given = Mapping[str, Any]  # a cell's parameters


class Cost(NamedTuple):
    """`programs` are what has to be compiled: by name, so that a worker compiles each once."""

    flops: float | None = None  # none: nobody says how many
    memory: float = 0.0  # bytes, at the peak
    files: float = 0.0  # bytes
    programs: tuple[str, ...] = ()
    checkpoints: float = 0.0  # bytes, until it is finished


def cost(cell: Cell, data: Mapping[str, Any] | None, tile_bytes: float) -> Cost:
    """Of a cell on data that dataset.json describes; little is said of functions that are not in the table below."""
    if data is None or cell.function not in _COSTS:
        return Cost()
    facts = Facts.of(cell.params, data, tile_bytes)
    one = _COSTS[cell.function](cell.params, facts)
    return one._replace(programs=tuple(f"{program}{_shapes(cell, facts)}" for program in one.programs))


def _shapes(cell: Cell, facts: Facts) -> str:
    """What shapes a program is compiled for, beyond the cell's parameters: an attack is compiled for the batches that
    the standing points fill, and a ticket of a large network for the units that are left of it."""
    ticket = cell.inputs.get("model") or cell.inputs.get("mask")
    if ticket is None or cell.function not in NARROWED:
        return ""
    if facts.problem.size.weights >= LEAST:
        return f" {ticket.sha256}"
    number = int(sha256(ticket.sha256.encode())[:8], 16)
    return f" {number % BUCKETS}" if cell.function == ATTACK else ""


def _program(name: str, params: Given, *changing: str) -> str:
    """What a compiled program is specialised to: all but what enters as numbers."""
    fixed = {key: value for key, value in params.items() if key not in ("seed", "density", *changing)}
    return f"{name} {json.dumps(fixed, sort_keys=True)}"


def _retrain(params: Given, facts: Facts) -> Cost:
    asked, program = from_json(Training, params["training"]), _program("retrain", params)
    weights = FLOAT * facts.problem.size.weights
    return Cost(
        training_flops(asked, params["threat"]["eps"], facts.problem),
        facts.memory(max(asked.batch, facts.problem.counts["validation"])),
        weights,
        (f"{program} step", f"{program} validation"),
        CHECKPOINTS * weights,
    )


def _find_mask(params: Given, facts: Facts) -> Cost:
    """By what the method says of itself; of a user's, which may say nothing, operations are not known."""
    asked, program = method(params["method"]), _program("mask", params)
    options = from_json(asked.options, params["options"])
    needs, batch, weights = asked.needs(options), getattr(options, "batch", 1), facts.problem.size.weights
    says_nothing = asked.flops is Method.flops and not params["method"].startswith("awt.")
    flops = asked.flops(options, params.get("threat", {}).get("eps", 0.0), facts.problem)
    memory = facts.memory(batch, copies=2)
    if needs.outputs:
        memory += _dense_bytes(batch, facts)
    if needs.views:
        memory += _views_bytes(needs.views, batch, facts) + _probes_bytes(batch, facts)
    return Cost(
        None if says_nothing else flops,
        memory,
        weights + (FLOAT * weights if asked.gives_start(options) else 0.0),
        (f"{program} step", f"{program} distances") if needs.views else (program,) if flops else (),
        CHECKPOINTS * FLOAT * weights,
    )


def _initial(params: Given, facts: Facts) -> Cost:
    files = FLOAT * facts.problem.size.weights
    return Cost(0.0, facts.memory(0, copies=0), files, (_program("initial", params),))


def _dense_bytes(batch: int, facts: Facts) -> float:
    """Of dense.npz."""
    return FLOAT * facts.problem.points(batch) * (facts.pixels + facts.problem.classes)


def _views_bytes(views: Views, batch: int, facts: Facts) -> float:
    """Of views.npz, for the search (by epoch, where they are fresh ones) and the curves."""
    row, batches = batch * facts.problem.classes, facts.problem.points(batch) // batch
    values = {"full": row**2, "probe": views.epochs * views.probes * row, "residual": row, "diagonal": row}
    matching = batches * values[views.estimator] if views.matched else 0
    return FLOAT * (matching + min(HELD_OUT_BATCHES, batches) * HELD_OUT.probes * row)


def _probes_bytes(batch: int, facts: Facts) -> float:
    """What the held-out probes hold at once: each the values of a pass and its derivative, and weights twice."""
    network = facts.problem.size
    return FLOAT * HELD_OUT.probes * (1.5 * batch * network.values + 2 * network.weights)


def _dense_side(params: Given, facts: Facts) -> Cost:
    batch, files = params["batch"], _dense_bytes(params["batch"], facts)
    passes = attack_passes(from_json(Attack, params["attack"]), params["threat"]["eps"]) + 1
    return Cost(
        facts.problem.points(batch) * passes * facts.problem.forward,
        facts.memory(batch, copies=0) + 3 * files,
        files,
        (_program("dense side", params),),
    )


def _views(params: Given, facts: Facts) -> Cost:
    batch, problem = params["batch"], facts.problem
    views = Views(**{name: params[name] for name in ("estimator", "probes", "epochs", "matched")})
    points, files = problem.points(batch), _views_bytes(views, batch, facts)
    flops = min(HELD_OUT_BATCHES * batch, points) * product_flops(problem, HELD_OUT.probes)
    if views.matched:
        looks = views.epochs if views.estimator == "probe" else 1
        flops += looks * points * view_flops(views.estimator, views.probes, batch, problem)
    memory = facts.memory(batch) + _dense_bytes(batch, facts) + _probes_bytes(batch, facts) + 2 * files
    return Cost(flops, memory, files, (_program("views", params),))


def _points(params: Given, facts: Facts) -> Cost:
    return Cost(0.0, facts.memory(0, copies=0), FLOAT * params["count"] * (facts.pixels + 1))


def _plan(params: Given, facts: Facts) -> Cost:
    """Nothing is computed, but the program of a tile compiled: for two sides, as a rule."""
    return Cost(0.0, PROCESS, 200.0, tuple(_program(f"plan {number}", params) for number in range(2)))


def _tile(params: Given, facts: Facts) -> Cost:
    """Every tile is computed as the largest, padded."""
    (rows, columns), problem = params["program"], facts.problem
    flops = (rows + columns) * factor_flops(problem) + rows * columns * pair_flops(problem, params["shape"], True)
    outputs = problem.classes**2 if params["shape"] == "full" else 1
    (top, bottom), (left, right) = params["rows"], params["columns"]
    files = FLOAT * (bottom - top) * (right - left) * outputs
    return Cost(flops, PROCESS + facts.tile_bytes, files, (_program("tile", params, "rows", "columns"),))


def _attack(params: Given, facts: Facts) -> Cost:
    start, stop = params["points"]
    number, forward = stop - start, facts.problem.forward
    flops = attack_flops(make(params["attack"], params["settings"]), facts) if params["threat"]["eps"] else forward
    program = _program(f"attack {number}", params, "points", "number")
    memory, files = facts.memory(number, copies=0, weights=1), 13.0 * number + 1000
    if params.get("keep_examples"):
        files += number * (FLOAT * facts.pixels + 8)
    return Cost(None if flops is None else number * flops, memory, files, (program,))


def attack_flops(attack: Any, facts: Facts) -> float | None:
    """By point: all tries, to their last step; none of an attack that does not say what its passes are."""
    if not hasattr(attack, "passes"):
        return None
    classes = facts.problem.classes
    tries = len(attack.tries(classes))
    passes = tries * (attack.passes(classes) + 1) + 1  # each is judged; classes are ranked once
    return passes * facts.problem.forward + tries * facts.pixels * getattr(attack, "beside", 0.0)


def _sanity(params: Given, facts: Facts) -> Cost:
    """APGD for each ε and once without a bound, PGD for each number of steps, a look at the gradients."""
    points, classes = min(params["points"], facts.problem.counts["test"]), facts.problem.classes
    passes = (len(EPS) + 1) * (Apgd("dlr", steps=50).passes(classes) + 1)
    passes += sum(Pgd(steps=steps).passes(classes) + 1 for steps in STEPS) + 6
    programs = tuple(f"{_program('sanity', params)} {number}" for number in range(5))
    return Cost(points * passes * facts.problem.forward, facts.memory(points, copies=0, weights=1), 1000.0, programs)


def _dynamics(params: Given, facts: Facts) -> Cost:
    """Two trainings; after each epoch attacks, Jacobians and grafts of both; two whole kernels before."""
    asked, problem = from_json(Training, params["training"]), facts.problem
    classes, points = problem.classes, min(params["points"], problem.counts["test"])
    look = 2 * (2 * asked.attack.steps + 4 + classes + len(problem.size.layers))
    flops = 2 * training_flops(asked, params["threat"]["eps"], problem)
    flops += (asked.epochs + 1) * points * look * problem.forward
    flops += 2 * points * (2 * factor_flops(problem) + points * pair_flops(problem, "full", masked=True))
    memory = facts.memory(max(asked.batch, points * classes), weights=2 * OPTIMISER)
    program = _program("dynamics", params)
    return Cost(
        flops,
        memory + 3 * FLOAT * (points * classes) ** 2,
        200.0 * (asked.epochs + 1),
        (f"{program} step", f"{program} figures", f"{program} kernels"),
        2 * CHECKPOINTS * FLOAT * problem.size.weights,
    )


_COSTS: dict[str, Callable[[Given, Facts], Cost]] = {
    "awt.cells.dense:initial_weights": _initial,
    "awt.cells.dense:dense_side": _dense_side,
    "awt.cells.dense:views": _views,
    "awt.cells.points:natural": _points,
    PLAN: _plan,
    "awt.cells.gram:tile": _tile,
    "awt.cells.mask:find_mask": _find_mask,
    RETRAIN: _retrain,
    ATTACK: _attack,
    SANITY: _sanity,
    "awt.cells.dynamics:dynamics": _dynamics,
}
