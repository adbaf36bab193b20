"""What a cell costs, by the function that it calls and the parameters that it calls it with.

Operations are counted in passes through the network: a step of an attack is two (there, and back to the input), a step
of training three (and back to the weights). They are bounds from above: every point is taken to withstand every attack
to the last step, and no unit of a ticket to be cut off (awt.models.compact leaves such units out, where there are many
weights). Memory and files are what the arrays take that a cell holds and returns.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from awt.artifacts import sha256
from awt.attacks.apgd import Apgd
from awt.attacks.deepfool import DeepFool
from awt.attacks.fab import Fab
from awt.attacks.pgd import Pgd
from awt.attacks.registry import attacker
from awt.attacks.square import Square
from awt.evaluation.sanity import EPS, STEPS
from awt.kernels.dense_side import HELD_OUT, HELD_OUT_BATCHES
from awt.models.compact import LEAST
from awt.params import Retrain
from awt.planning.outline import Outline
from awt.planning.size import Size
from awt.runtime import Cell
from awt.training.cells import RETRAIN

PROCESS = 0.35e9  # bytes of a process with JAX, before any array
FLOAT = 4  # bytes
OPTIMISER = 6  # copies of the weights: themselves, masked, their gradient, Adam's two, the mask
SAVED = 3  # of the values of a pass: those that the way back needs, and what it makes of them
PRODUCT = 6  # passes of a kernel times a vector: one there and back to the weights, one with its derivative along them
KERNEL_GRADIENT = 3  # of a view of a kernel with its gradient, against the view alone
_ATTACK, _SANITY = "awt.evaluation.attacked:attack", "awt.evaluation.sanity:check"
_NARROWED = (RETRAIN, _ATTACK, _SANITY)  # what runs without the units that a mask cuts off
# operations by pixel and step beside the passes, at the speed of training (measured on MLPs): searches along the box in
# FAB, random numbers in Square; the other attacks' are as few as training's own
BESIDE = {"fab-t": 1200.0, "square": 400.0}
BUCKETS = 4  # batch sizes, of the eight there are, that a network's standing points are expected to fill


class Cost(NamedTuple):
    """`programs` are what has to be compiled: by name, so that a worker compiles each once."""

    flops: float
    memory: float  # bytes, at the peak
    files: float  # bytes
    programs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What costs depend on beside a cell's own parameters."""

    data: Outline
    size: Size
    memory_gb: float  # of a tile

    @property
    def forward(self) -> float:
        return self.size.forward

    def points(self, batch: int) -> int:
        """Training points that an epoch meets: the ragged rest is left out."""
        return self.data.counts["train"] // batch * batch

    def memory(self, batch: int, copies: int = 1, weights: int = OPTIMISER) -> float:
        """Of a process that has decoded the data set, with some copies of the training points, at work on a batch."""
        data = self.data.points * self.data.pixels * (FLOAT + self.data.itemsize)
        data += copies * self.data.counts["train"] * self.data.pixels * FLOAT
        return PROCESS + data + FLOAT * (weights * self.size.weights + SAVED * batch * self.size.values)


def cost(cell: Cell, facts: Facts) -> Cost:
    found = _COSTS[cell.function](cell.params, facts)
    return found._replace(programs=tuple(f"{program}{_shapes(cell, facts)}" for program in found.programs))


def _shapes(cell: Cell, facts: Facts) -> str:
    """What shapes a program is compiled for, beyond the cell's parameters: an attack is compiled for the batches that
    the standing points fill, and a ticket of a large network for the units that are left of it."""
    ticket = cell.inputs.get("model") or cell.inputs.get("mask")
    if ticket is None or cell.function not in _NARROWED:
        return ""
    if facts.size.weights >= LEAST:
        return f" {ticket.sha256}"
    number = int(sha256(ticket.sha256.encode())[:8], 16)
    return f" {number % BUCKETS}" if cell.function == _ATTACK else ""


def training_passes(retrain: Retrain, classes: int, eps: float = 1.0) -> float:
    """By point and epoch: (2S + 3), the attack's and the step's; other objectives attack otherwise."""
    if retrain.objective == "natural" or (eps == 0 and not retrain.also):
        return 3
    steps = 2 * retrain.attack.steps
    return {"pgd": steps + 3, "fgsm": 5, "trades": steps + 7, "beta": classes * (steps + 1) + 3}[retrain.objective]


def attack_flops(name: str, changes: Mapping[str, int], facts: Facts) -> float:
    """By point, of an evaluation's attack: all its tries, to their last step."""
    found: Any = attacker(name, changes)
    classes = facts.data.classes
    tries, steps = len(found.tries(classes)), getattr(found, "queries", None) or found.steps
    passes = tries * (_try_passes(found, classes) + 1) + 1  # each is judged; classes are ranked once
    return passes * facts.forward + tries * steps * facts.data.pixels * BESIDE.get(name, 0.0)


def _try_passes(attack: Any, classes: int) -> float:
    match attack:
        case Pgd():
            return 2 * attack.steps + 1
        case Apgd():
            return 2 * (attack.steps + 1)
        case Fab():
            return 3 * attack.steps
        case Square():
            return attack.queries
        case DeepFool():
            return (classes + 2) * attack.steps
    raise AssertionError(f"no count of the passes of {attack.name}")


def _retrain(params: Mapping[str, Any], facts: Facts) -> Cost:
    asked, eps = Retrain.of(params["retrain"]), params["threat"]["eps"]
    validation = facts.data.counts["validation"]
    passes = asked.epochs * facts.points(asked.batch) * training_passes(asked, facts.data.classes, eps)
    passes += asked.epochs * validation * (2 * asked.attack.steps + 2)
    memory = facts.memory(max(asked.batch, validation), copies=1)
    name = _program("retrain", params)
    return Cost(passes * facts.forward, memory, FLOAT * facts.size.weights, (f"{name} step", f"{name} validation"))


def _find_mask(params: Mapping[str, Any], facts: Facts) -> Cost:
    search, method = params["search"], params["method"]
    passes = _SEARCHES.get(method, _nothing)(search, params.get("threat", {}).get("eps", 0.0), facts)
    kernel = 0.0
    if method == "awt" and search["gamma"] > 0:
        kernel = facts.points(search["batch"]) * search["epochs"] * _view(search, facts) * KERNEL_GRADIENT
    files = 1.0 * facts.size.weights
    if search.get("start") == "searched" or method in ("dns", "iwi"):
        files += FLOAT * facts.size.weights
    memory = facts.memory(search.get("batch", 1), copies=2)
    if method in ("awt", "concrete"):
        memory += _dense_bytes(search["batch"], facts)
    if method == "awt":
        memory += _views_bytes(search, search["gamma"] > 0, facts)
        memory += FLOAT * _saved_probes(search) * search["batch"] * facts.size.values
    name = _program("mask", params)
    programs = (f"{name} step", f"{name} distances")[: {"awt": 2}.get(method, int(passes > 0))]
    return Cost(passes * facts.forward + kernel, memory, files, programs)


def _nothing(search: Mapping[str, Any], eps: float, facts: Facts) -> float:
    return 0.0


def _attack(search: Mapping[str, Any], eps: float) -> float:
    """The passes of the search's attack: none on natural points."""
    return 2.0 * search["attack"]["steps"] if eps > 0 else 0.0


def _epochs(search: Mapping[str, Any], eps: float, facts: Facts) -> float:
    return search["epochs"] * facts.points(search["batch"]) * (_attack(search, eps) + 3)


def _awt(search: Mapping[str, Any], eps: float, facts: Facts) -> float:
    """The steps, and before them and after each epoch the distances on the held-out batches."""
    held_out = min(HELD_OUT_BATCHES * search["batch"], facts.points(search["batch"]))
    distances = held_out * (_attack(search, eps) + 1 + HELD_OUT.probes * PRODUCT)
    return _epochs(search, eps, facts) + (search["epochs"] + 1) * distances


def _iwi(search: Mapping[str, Any], eps: float, facts: Facts) -> float:
    validation = search["epochs"] * facts.data.counts["validation"] * (_attack(search, eps) + 2)
    return _epochs(search, eps, facts) + validation


def _scores(per_point: float) -> Callable[[Mapping[str, Any], float, Facts], float]:
    def passes(search: Mapping[str, Any], eps: float, facts: Facts) -> float:
        points = min(search["score_batches"] * search["batch"], facts.points(search["batch"]))
        return points * (_attack(search, eps) + 1 + per_point)

    return passes


def _synflow(search: Mapping[str, Any], eps: float, facts: Facts) -> float:
    return 3.0 * search["rounds"]


_SEARCHES: dict[str, Callable[[Mapping[str, Any], float, Facts], float]] = {
    "awt": _awt,
    "concrete": _epochs,
    "dns": _epochs,
    "imp": _epochs,
    "iwi": _iwi,
    "snip": _scores(3),
    "grasp": _scores(3 + 3 + 6),  # the gradient with another attack before it, and the gradient's derivative
    "synflow": _synflow,
}


def _view(search: Mapping[str, Any], facts: Facts) -> float:
    """Operations by point of an estimator's look at a kernel, without its gradient."""
    if search["estimator"] in ("probe", "residual"):
        return (search["probes"] if search["estimator"] == "probe" else 1) * PRODUCT * facts.forward
    batch = search["batch"] if search["estimator"] == "full" else 1
    shape = "full" if search["estimator"] == "full" else "trace"
    return 2 * _factors(facts) + batch * _pair(facts, shape, masked=True)


def _saved_probes(search: Mapping[str, Any]) -> int:
    """How many passes' values the gradient of a look at the kernel holds beside a step's."""
    if search["gamma"] == 0:
        return HELD_OUT.probes
    return max(HELD_OUT.probes, SAVED * search["probes"] if search["estimator"] == "probe" else SAVED)


def _factors(facts: Facts) -> float:
    """Operations by point: what layers saw, and what each output sends back to them; of convolutions, gradients."""
    classes = facts.data.classes
    return sum(layer.forward * (1 + classes * (1 if layer.is_dense else 2)) for layer in facts.size.layers)


def _pair(facts: Facts, shape: str, masked: bool) -> float:
    """Operations by pair of points (see awt.kernels.exact)."""
    classes, total = facts.data.classes, 0.0
    pairs = classes**2 if shape == "full" else classes
    for layer in facts.size.layers:
        if not layer.is_dense:
            total += 2.0 * pairs * layer.seen * layer.units
        elif masked:
            total += 2.0 * layer.seen * layer.units + 3.0 * pairs * layer.units
        else:
            total += 2.0 * layer.seen + 2.0 * pairs * layer.units
    return total


def _initial(params: Mapping[str, Any], facts: Facts) -> Cost:
    return Cost(0.0, facts.memory(0, copies=0), FLOAT * facts.size.weights, (_program("initial", params),))


def _dense_bytes(batch: int, facts: Facts) -> float:
    return FLOAT * facts.points(batch) * (facts.data.pixels + facts.data.classes)


def _dense_side(params: Mapping[str, Any], facts: Facts) -> Cost:
    points, files = facts.points(params["batch"]), _dense_bytes(params["batch"], facts)
    passes = points * (_attack(params, params["threat"]["eps"]) + 1)
    memory = facts.memory(params["batch"], copies=0) + 3 * files
    return Cost(passes * facts.forward, memory, files, (_program("dense side", params),))


def _views_bytes(search: Mapping[str, Any], matched: bool, facts: Facts) -> float:
    """Of views.npz, for the search (by epoch, where they are fresh ones) and the curves."""
    row, batches = search["batch"] * facts.data.classes, facts.points(search["batch"]) // search["batch"]
    values = {"full": row**2, "probe": search["epochs"] * search["probes"] * row, "residual": row, "diagonal": row}
    search_values = batches * values[search["estimator"]] if matched else 0
    return FLOAT * (search_values + min(HELD_OUT_BATCHES, batches) * HELD_OUT.probes * row)


def _views(params: Mapping[str, Any], facts: Facts) -> Cost:
    points = facts.points(params["batch"])
    flops = min(HELD_OUT_BATCHES * params["batch"], points) * HELD_OUT.probes * PRODUCT * facts.forward
    if params["matched"]:
        flops += (params["epochs"] if params["estimator"] == "probe" else 1) * points * _view(params, facts)
    files = _views_bytes(params, params["matched"], facts)
    memory = facts.memory(params["batch"] * HELD_OUT.probes, copies=1) + _dense_bytes(params["batch"], facts)
    return Cost(flops, memory + 2 * files, files, (_program("views", params),))


def _points(params: Mapping[str, Any], facts: Facts) -> Cost:
    return Cost(0.0, facts.memory(0, copies=0), FLOAT * params["count"] * (facts.data.pixels + 1))


def _plan(params: Mapping[str, Any], facts: Facts) -> Cost:
    """Nothing is computed, but the program of a tile compiled: for two sides, as a rule."""
    return Cost(0.0, PROCESS, 200.0, tuple(_program(f"plan {number}", params) for number in range(2)))


def _tile(params: Mapping[str, Any], facts: Facts) -> Cost:
    """Every tile is computed as the largest, padded."""
    rows, columns = params["program"]
    flops = (rows + columns) * _factors(facts) + rows * columns * _pair(facts, params["shape"], masked=True)
    outputs = facts.data.classes**2 if params["shape"] == "full" else 1
    (top, bottom), (left, right) = params["rows"], params["columns"]
    files = FLOAT * (bottom - top) * (right - left) * outputs
    fixed = {name: params[name] for name in params if name not in ("rows", "columns")}
    return Cost(flops, PROCESS + facts.memory_gb * 2**30, files, (_program("tile", fixed),))


def _attacked(params: Mapping[str, Any], facts: Facts) -> Cost:
    start, stop = params["points"]
    attacked = attack_flops(params["attack"], params["changes"], facts) if params["threat"]["eps"] else facts.forward
    return Cost(
        (stop - start) * attacked,
        facts.memory(stop - start, copies=0, weights=1),
        13 * (stop - start) + 1000,
        (_program("attack", {**params, "points": stop - start, "number": 0}),),
    )


def _sanity_check(params: Mapping[str, Any], facts: Facts) -> Cost:
    """APGD for each ε and once without a bound, PGD for each number of steps, and a look at the gradients."""
    points = min(params["points"], facts.data.counts["test"])
    passes = (len(EPS) + 1) * (_try_passes(Apgd("dlr", steps=50), facts.data.classes) + 1)
    passes += sum(_try_passes(Pgd(steps=steps), facts.data.classes) + 1 for steps in STEPS) + 6
    name = _program("sanity", params)
    programs = tuple(f"{name} {number}" for number in range(2 + len(STEPS)))
    return Cost(points * passes * facts.forward, facts.memory(points, copies=0, weights=1), 1000, programs)


def _dynamics(params: Mapping[str, Any], facts: Facts) -> Cost:
    """Two trainings; after each epoch attacks, Jacobians and grafts of both; two whole kernels before."""
    asked, classes = Retrain.of(params["retrain"]), facts.data.classes
    points = min(params["points"], facts.data.counts["test"])
    passes = 2 * asked.epochs * facts.points(asked.batch) * training_passes(asked, classes, params["threat"]["eps"])
    look = 2 * (2 * asked.attack.steps + 4 + classes + len(facts.size.layers))
    passes += (asked.epochs + 1) * points * look
    kernels = 2 * (2 * points * _factors(facts) + points**2 * _pair(facts, "full", masked=True))
    memory = facts.memory(max(asked.batch, points * classes), weights=2 * OPTIMISER)
    memory += 3 * FLOAT * (points * classes) ** 2
    name = _program("dynamics", params)
    programs = (f"{name} step", f"{name} figures", f"{name} kernels")
    return Cost(passes * facts.forward + kernels, memory, 200.0 * (asked.epochs + 1), programs)


_COSTS: dict[str, Callable[[Mapping[str, Any], Facts], Cost]] = {
    "awt.kernels.dense_side:initial_weights": _initial,
    "awt.kernels.dense_side:dense_side": _dense_side,
    "awt.kernels.dense_side:kernel_views": _views,
    "awt.kernels.points:natural": _points,
    "awt.kernels.gram:plan": _plan,
    "awt.kernels.gram:tile": _tile,
    "awt.tickets.find:find_mask": _find_mask,
    RETRAIN: _retrain,
    _ATTACK: _attacked,
    _SANITY: _sanity_check,
    "awt.evaluation.dynamics:dynamics": _dynamics,
}


def _program(name: str, params: Mapping[str, Any]) -> str:
    """What a compiled program is specialised to: all but what enters as numbers."""
    fixed = {key: value for key, value in params.items() if key not in ("seed", "density")}
    return f"{name} {json.dumps(fixed, sort_keys=True)}"
