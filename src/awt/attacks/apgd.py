"""Auto-PGD (Croce & Hein, 2020; for ℓ1: 2021): PGD with momentum that halves its steps where they lead nowhere.

The first step is 2ε. At checkpoints, 22 % of the steps apart at first and 3 % less each time down to 6 %, a point that
rose in too few of the steps, or whose best did not rise at all since steps were last reduced, goes on from its best
with half the step. In ℓ1 steps are sparse: as sparse as the best perturbation so far.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from awt.attacks.attacker import Best, Points, by_point, in_turn, random_start
from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits, Loss, fooled, objective

MOMENTUM, RISING = 0.75, 0.75


class State(NamedTuple):
    number: jax.Array
    x: jax.Array
    before: jax.Array
    gradient: jax.Array
    value: jax.Array
    best: Best
    best_gradient: jax.Array
    step: jax.Array
    rises: jax.Array  # since the last checkpoint
    since: jax.Array  # steps since then
    period: jax.Array  # steps until the next
    reduced: jax.Array  # at the last checkpoint
    best_then: jax.Array
    dense: jax.Array  # ℓ1: the share of pixels that a step moves
    entries: jax.Array  # ℓ1: pixels that the best perturbation moved at the last checkpoint


@dataclass(frozen=True)
class Apgd:
    loss: Literal["ce", "dlr"] = "ce"
    steps: int = 100
    restarts: int = 1
    targets: int = 0
    name: str = "apgd-ce"

    norms = ("linf", "l2", "l1")

    def tries(self, classes: int) -> list[int | None]:
        return in_turn(self.targets, self.restarts, classes)

    def passes(self, classes: int) -> float:
        """What a try costs: passes through the network, or back to its input."""
        return 2 * (self.steps + 1)

    def __call__(self, logits: Logits, ball: Ball, points: Points) -> jax.Array:
        x, y = points.x, points.y
        towards = points.target if self.targets else None

        def total(moved: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            found = logits(moved)
            classes = found.shape[1]
            scale_free = self.loss == "dlr" and classes >= (4 if self.targets else 3)
            loss: Loss = "ce" if self.loss == "ce" else "dlr" if scale_free else "margin"
            values = objective(loss, y, towards)(found)
            return values.sum(), (values, fooled(found, y))

        def look(moved: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            gradient, (values, broken) = jax.grad(total, has_aux=True)(moved)
            return gradient, values, broken

        in_l1 = ball.norm == "l1"
        longest = (1.0 if in_l1 else 2.0) * ball.eps
        period = max(int((0.04 if in_l1 else 0.22) * self.steps), 1)
        shortest_period, shorter_by = max(int(0.06 * self.steps), 1), max(int(0.03 * self.steps), 1)
        pixels = x[0].size

        def advance(state: State) -> State:
            momentum = jnp.where(state.number == 0, 1.0, MOMENTUM)
            if in_l1:
                direction = ball.sparse(state.gradient * ball.units, state.dense) * ball.units
                moved = ball.project(x, state.x + by_point(state.step) * direction)
            else:
                ahead = ball.project(x, state.x + by_point(state.step) * ball.steepest(state.gradient))
                inertia = state.x + momentum * (ahead - state.x) + (1 - momentum) * (state.x - state.before)
                moved = ball.project(x, inertia)
            gradient, values, broken = look(moved)
            best = state.best.seen(moved, values, broken)
            rose = values > state.best.value
            state = state._replace(
                number=state.number + 1,
                x=moved,
                before=state.x,
                gradient=gradient,
                value=values,
                best=best,
                best_gradient=jnp.where(by_point(rose), gradient, state.best_gradient),
                rises=state.rises + (values > state.value),
                since=state.since + 1,
            )
            return jax.lax.cond(
                state.since == state.period, sparser if in_l1 else checkpoint, lambda state: state, state
            )

        def checkpoint(state: State) -> State:
            stuck = ~state.reduced & (state.best_then >= state.best.value)
            halve = (state.rises <= RISING * state.period) | stuck
            return state._replace(
                x=jnp.where(by_point(halve), state.best.x, state.x),
                gradient=jnp.where(by_point(halve), state.best_gradient, state.gradient),
                step=jnp.where(halve, state.step / 2, state.step),
                rises=jnp.zeros_like(state.rises),
                since=jnp.zeros_like(state.since),
                period=jnp.maximum(state.period - shorter_by, shortest_period),
                reduced=halve,
                best_then=state.best.value,
            )

        def sparser(state: State) -> State:
            entries = jnp.sum(state.best.x != x, axis=(1, 2, 3)).astype(jnp.float32)
            fewer = entries < 0.95 * state.entries
            return state._replace(
                x=jnp.where(by_point(fewer), state.best.x, state.x),
                gradient=jnp.where(by_point(fewer), state.best_gradient, state.gradient),
                step=jnp.where(fewer, longest, jnp.maximum(state.step / 1.5, longest / 10)),
                since=jnp.zeros_like(state.since),
                dense=entries / pixels / 1.5,
                entries=entries,
            )

        start = random_start(ball, points) if in_l1 else _on_the_edge(ball, points)
        gradient, values, broken = look(start)
        number = len(y)
        state = State(
            number=jnp.array(0),
            x=start,
            before=start,
            gradient=gradient,
            value=values,
            best=Best.start(points).seen(start, values, broken),
            best_gradient=gradient,
            step=jnp.full(number, longest),
            rises=jnp.zeros(number, int),
            since=jnp.array(0),
            period=jnp.array(period),
            reduced=jnp.ones(number, bool),
            best_then=values,
            dense=jnp.full(number, 0.2),
            entries=jnp.full(number, float(pixels)),
        )
        state = jax.lax.while_loop(
            lambda state: (state.number < self.steps) & ~jnp.all(state.best.broken), advance, state
        )
        return state.best.x


def _on_the_edge(ball: Ball, points: Points) -> jax.Array:
    """A random point whose perturbation has the size ε (before clipping)."""
    far = random_start(ball, points) - points.x
    grown = ball.eps * far / jnp.maximum(by_point(ball.size(far)), 1e-12)
    return ball.project(points.x, points.x + grown)
