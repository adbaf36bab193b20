"""Operations of training, in passes through the network.

A step of an attack is two passes (there, and back to the input), a step of training three (and back to the weights):
N points and E epochs of PGD-S are N·E·(2S + 3).
"""

from awt.attacks.pgd import Attack
from awt.models.size import Problem
from awt.training.options import Training


def training_passes(options: Training, classes: int, eps: float = 1.0) -> float:
    """By point and epoch; objectives differ in their attacks."""
    if options.objective == "natural" or (eps == 0 and not options.extra_threats):
        return 3
    steps = 2 * options.attack.steps
    return {"pgd": steps + 3, "fgsm": 5, "trades": steps + 7, "beta": classes * (steps + 1) + 3}[options.objective]


def training_flops(options: Training, eps: float, problem: Problem) -> float:
    """With the validation after each epoch."""
    passes = problem.points(options.batch) * training_passes(options, problem.classes, eps)
    passes += problem.counts["validation"] * (2 * options.attack.steps + 2)
    return options.epochs * passes * problem.forward


def attack_passes(attack: Attack, eps: float) -> float:
    """Of a batch's attack: none on natural points."""
    return 2.0 * attack.steps if eps > 0 else 0.0
