"""Operations of training and of the searches for masks, in passes through the network.

A step of an attack is two passes (there, and back to the input), a step of training three (and back to the weights):
N points and E epochs of PGD-S are N·E·(2S + 3).
"""

from collections.abc import Callable, Mapping
from typing import Any

from awt.kernels.dense_side import HELD_OUT, HELD_OUT_BATCHES
from awt.params import Retrain
from awt.planning.facts import Facts
from awt.planning.kernel_work import product_flops, view_flops

Search = Mapping[str, Any]  # the keys of the search section that a method reads


def training_passes(retrain: Retrain, classes: int, eps: float = 1.0) -> float:
    """By point and epoch; objectives differ in their attacks."""
    if retrain.objective == "natural" or (eps == 0 and not retrain.also):
        return 3
    steps = 2 * retrain.attack.steps
    return {"pgd": steps + 3, "fgsm": 5, "trades": steps + 7, "beta": classes * (steps + 1) + 3}[retrain.objective]


def training_flops(retrain: Retrain, eps: float, facts: Facts) -> float:
    """With the validation after each epoch."""
    passes = facts.points(retrain.batch) * training_passes(retrain, facts.classes, eps)
    passes += facts.data.counts["validation"] * (2 * retrain.attack.steps + 2)
    return retrain.epochs * passes * facts.forward


def attack_passes(search: Search, eps: float) -> float:
    """Of the search's own attack: none on natural points."""
    return 2.0 * search["attack"]["steps"] if eps > 0 else 0.0


def search_flops(method: str, search: Search, eps: float, facts: Facts) -> float:
    return _SEARCHES[method](search, eps, facts) if method in _SEARCHES else 0.0


def _epochs(search: Search, eps: float, facts: Facts) -> float:
    return search["epochs"] * facts.points(search["batch"]) * (attack_passes(search, eps) + 3) * facts.forward


def _awt(search: Search, eps: float, facts: Facts) -> float:
    """The steps with what they see of the kernel; before them and after each epoch, distances on held-out batches."""
    points, total = facts.points(search["batch"]), _epochs(search, eps, facts)
    if search["gamma"] > 0:
        total += search["epochs"] * points * view_flops(search, facts, gradient=True)
    distances = (attack_passes(search, eps) + 1) * facts.forward + product_flops(facts, HELD_OUT.probes)
    return total + (search["epochs"] + 1) * min(HELD_OUT_BATCHES * search["batch"], points) * distances


def _iwi(search: Search, eps: float, facts: Facts) -> float:
    validation = facts.data.counts["validation"] * (attack_passes(search, eps) + 2)
    return _epochs(search, eps, facts) + search["epochs"] * validation * facts.forward


def _scores(passes: float) -> Callable[[Search, float, Facts], float]:
    def flops(search: Search, eps: float, facts: Facts) -> float:
        points = min(search["score_batches"] * search["batch"], facts.points(search["batch"]))
        return points * (attack_passes(search, eps) + 1 + passes) * facts.forward

    return flops


_SEARCHES: dict[str, Callable[[Search, float, Facts], float]] = {
    "awt": _awt,
    "concrete": _epochs,
    "dns": _epochs,
    "imp": _epochs,
    "iwi": _iwi,
    "snip": _scores(3),
    "grasp": _scores(3 + 3 + 6),  # the gradient, and the gradient's derivative along it
    "synflow": lambda search, eps, facts: 3.0 * search["rounds"] * facts.forward,
}
