"""What the methods that train, or match, over epochs share: their options, and what their steps cost."""

from awt.models.size import Problem
from awt.options import options
from awt.tickets.method import Attacking, Positive, Rate
from awt.training.cost import attack_passes


@options
class Searching(Attacking):
    epochs: Positive = 20  # passes over the training points
    learning_rate: Rate = 1e-3  # of Adam


def step_flops(options: Searching, eps: float, problem: Problem) -> float:
    """Of all its steps: an attack, and a step of training, on every point of every epoch."""
    passes = attack_passes(options.attack, eps) + 3
    return options.epochs * problem.points(options.batch) * passes * problem.forward
