"""Projected gradient ascent: the loop that training and evaluation share, and the attack."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
from annotated_types import Ge, Gt

from awt.attacks.attacker import Best, Points, in_turn, random_start
from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits, Loss, cross_entropy, fooled, objective
from awt.models.network import Network, Weights
from awt.options import options


@options
class Attack:
    """PGD as training and searches use it; `step_size` in the threat's unit, none: 2.5 ε/steps."""

    steps: Annotated[int, Ge(1)] = 10
    step_size: Annotated[float, Gt(0)] | None = None
    random_start: bool = True


def step_size(ball: Ball, steps: int, given: float | None) -> float:
    """An array where ε is one."""
    return 2.5 * ball.eps / steps if given is None else given


def pgd(
    logits: Logits,
    ball: Ball,
    attack: Attack,
    x: jax.Array,
    y: jax.Array,
    key: jax.Array,
    step: float | jax.Array | None = None,
) -> jax.Array:
    """Adversarial examples of x with labels y, by the cross-entropy: the last of the steps, as training uses it.

    No gradient flows from the result back into the network. With ε = 0 it is x itself.
    """
    return ascend(lambda moved: cross_entropy(logits(moved), y), ball, attack, x, key, step)


def ascend(
    value: Callable[[jax.Array], jax.Array],
    ball: Ball,
    attack: Attack,
    x: jax.Array,
    key: jax.Array,
    step: float | jax.Array | None = None,
) -> jax.Array:
    """Steps along the steepest ascent of a value by point, each projected back into the ball."""
    if isinstance(ball.eps, float) and ball.eps == 0.0:
        return x
    size = step_size(ball, attack.steps, attack.step_size) if step is None else step

    def forward(_: int, moved: jax.Array) -> jax.Array:
        gradient = jax.grad(lambda moved: value(moved).sum())(moved)
        return ball.project(x, moved + size * ball.steepest(gradient))

    start = ball.random(key, x) if attack.random_start else x
    return jax.lax.stop_gradient(jax.lax.fori_loop(0, attack.steps, forward, start))


@partial(jax.jit, static_argnames=("network", "ball", "attack"))
def attacked(
    network: Network, ball: Ball, attack: Attack, weights: Weights, x: jax.Array, y: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Adversarial examples of a network, and its outputs on them; compiled once for all weights and keys."""
    moved = pgd(partial(network.apply, weights), ball, attack, x, y, key)
    return moved, network.apply(weights, moved)


@dataclass(frozen=True)
class Pgd:
    """PGD of any loss, with restarts, towards no class or in turn towards each; a single step of size ε is FGSM."""

    steps: int = 100
    loss: Loss = "ce"
    step_size: float | None = None
    random_start: bool = True
    restarts: int = 1
    targets: int = 0
    name: str = "pgd"

    norms = ("linf", "l2", "l1")

    def tries(self, classes: int) -> list[int | None]:
        return in_turn(self.targets, self.restarts, classes)

    def passes(self, classes: int) -> float:
        """What a try costs: passes through the network, or back to its input."""
        return 2 * self.steps + 1

    def __call__(self, logits: Logits, ball: Ball, points: Points) -> jax.Array:
        x, y = points.x, points.y
        natural = logits(x) if self.loss == "kl" else None
        value = objective(self.loss, y, points.target if self.targets else None, natural)
        size = step_size(ball, self.steps, self.step_size)

        def total(moved: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            found = logits(moved)
            values = value(found)
            return values.sum(), (values, fooled(found, y))

        def step(state: tuple[int, jax.Array, Best]) -> tuple[int, jax.Array, Best]:
            number, moved, best = state
            gradient, (values, broken) = jax.grad(total, has_aux=True)(moved)
            return number + 1, ball.project(x, moved + size * ball.steepest(gradient)), best.seen(moved, values, broken)

        start = random_start(ball, points) if self.random_start else x
        _, moved, best = jax.lax.while_loop(
            lambda state: (state[0] < self.steps) & ~jnp.all(state[2].broken), step, (0, start, Best.start(points))
        )
        return best.seen(moved, *total(moved)[1]).x


def fgsm(random_start: bool = False) -> Pgd:
    """One step to the edge of the ball."""
    return Pgd(steps=1, step_size=None, random_start=random_start, name="fgsm")
