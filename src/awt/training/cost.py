"""Operations of training, in passes through the network.

A step of an attack is two passes (there, and back to the input), a step of training three (and back to the weights):
N points and E epochs of PGD-S are N·E·(2S + 3).
"""

from awt.attacks.pgd import Attack
from awt.models.size import Problem
from awt.training.objectives.objective import objective
from awt.training.options import Training


def training_passes(options: Training, classes: int, eps: float = 1.0) -> float:
    """By point and epoch; objectives differ in their attacks."""
    chosen = objective(options.objective)
    if not chosen.attacks or (eps == 0 and not options.extra_threats):
        return 3
    return chosen.passes(options.attack.steps, classes)


def training_flops(options: Training, eps: float, problem: Problem) -> float:
    """With the validation after each epoch."""
    passes = problem.points(options.batch) * training_passes(options, problem.classes, eps)
    passes += problem.counts["validation"] * (2 * options.attack.steps + 2)
    return options.epochs * passes * problem.forward


def attack_passes(attack: Attack, eps: float) -> float:
    """Of a batch's attack: none on natural points."""
    return 2.0 * attack.steps if eps > 0 else 0.0
