"""FAB (Croce & Hein, 2020), targeted: small perturbations, by steps onto the linearised boundary to a class.

Each step projects the current point and the clean one onto the hyperplane on which the linearised network is undecided
between the label and the target, goes a little beyond (η), and mixes the two; a point behind the boundary is recorded
if it is the closest so far, and drawn back towards the clean one (β). A point is broken when it came within ε.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from awt.attacks.attacker import Points, by_point, in_turn, total_by_point
from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits, fooled, objective

MIX, BEYOND, BACK = 0.1, 1.05, 0.9


@dataclass(frozen=True)
class Fab:
    steps: int = 100
    targets: int = 9
    name: str = "fab-t"

    norms = ("linf", "l2", "l1")

    def tries(self, classes: int) -> list[int | None]:
        return in_turn(self.targets, 1, classes)

    def passes(self, classes: int) -> float:
        """What a try costs: passes through the network, or back to its input."""
        return 3 * self.steps

    @property
    def beside(self) -> float:
        """What a try costs beside its passes: operations by pixel, of its searches along the box (measured)."""
        return 1200.0 * self.steps

    def __call__(self, logits: Logits, ball: Ball, points: Points) -> jax.Array:
        clean, y = points.x, points.y
        difference = objective("margin", y, points.target)

        def total(x: jax.Array) -> tuple[jax.Array, jax.Array]:
            values = difference(logits(x))
            return values.sum(), values

        def step(state: tuple[int, jax.Array, jax.Array, jax.Array]) -> tuple[int, jax.Array, jax.Array, jax.Array]:
            number, x, closest, least = state
            slope, values = jax.grad(total, has_aux=True)(x)
            from_x = to_boundary(ball, x, slope, -values)
            from_clean = to_boundary(ball, clean, slope, -values + total_by_point(slope * (x - clean)))
            here, there = (jnp.maximum(ball.size(r), 1e-8) for r in (from_x, from_clean))
            mix = by_point(jnp.minimum(here / (here + there), MIX))
            x = jnp.clip((x + BEYOND * from_x) * (1 - mix) + (clean + BEYOND * from_clean) * mix, *ball.box)
            behind, size = fooled(logits(x), y), ball.size(x - clean)
            closer = behind & (size < least)
            closest = jnp.where(by_point(closer), x, closest)
            x = jnp.where(by_point(behind), clean + BACK * (x - clean), x)
            return number + 1, x, closest, jnp.where(closer, size, least)

        start = 0, clean, clean, jnp.where(points.live, jnp.inf, 0.0)
        _, _, closest, least = jax.lax.while_loop(
            lambda state: (state[0] < self.steps) & ~jnp.all(state[3] <= ball.eps), step, start
        )
        return jnp.where(by_point(least <= ball.eps), closest, clean)


def to_boundary(ball: Ball, x: jax.Array, slope: jax.Array, rise: jax.Array) -> jax.Array:
    """The smallest perturbation in the box around x along which a linear function of this slope rises by so much.

    Where the box does not allow that much, as much as it allows.
    """
    towards = by_point(jnp.sign(rise)) * slope * ball.units  # in units of the ball, the direction of the rise
    low, high = ((bound - x) / ball.units for bound in ball.box)
    if ball.norm == "l1":
        return _fill(towards, low, high, jnp.abs(rise)) * ball.units
    # a pixel moves along its direction for a length that all share, until the box ends it; w is what it gains by length
    room = jnp.where(towards > 0, high, -low)
    if ball.norm == "linf":
        direction, w, ends = jnp.sign(towards), jnp.abs(towards), room
    else:
        direction, w, ends = towards, towards**2, room / jnp.maximum(jnp.abs(towards), 1e-30)
    missing_at_0 = jnp.abs(rise)

    # the gain Σ w min(length, ends) is concave and piecewise linear: Newton's steps from 0 never overshoot, end exactly
    def newton(state: tuple[int, jax.Array, jax.Array]) -> tuple[int, jax.Array, jax.Array]:
        number, length, _ = state
        reached = by_point(length)
        missing = missing_at_0 - total_by_point(w * jnp.minimum(reached, ends))
        rate = total_by_point(jnp.where(reached < ends, w, 0.0))
        more = (missing > 1e-6 * missing_at_0) & (rate > 0)
        return number + 1, jnp.where(more, length + missing / jnp.maximum(rate, 1e-30), length), more

    start = 0, jnp.zeros_like(rise), jnp.ones_like(rise, bool)
    _, length, _ = jax.lax.while_loop(lambda state: (state[0] < 25) & jnp.any(state[2]), newton, start)
    return direction * jnp.minimum(by_point(length), ends) * ball.units


def _fill(towards: jax.Array, low: jax.Array, high: jax.Array, rise: jax.Array) -> jax.Array:
    """ℓ1: the pixels of the steepest rise first, each as far as the box allows."""
    flat = towards.reshape(len(towards), -1)
    room = jnp.where(towards > 0, high, low).reshape(flat.shape)
    order = jnp.argsort(-jnp.abs(flat), axis=1)
    gains = jnp.take_along_axis(jnp.where(flat == 0, 0.0, flat * room), order, axis=1)
    before = jnp.cumsum(gains, axis=1) - gains
    share = jnp.clip((rise[:, None] - before) / jnp.maximum(gains, 1e-30), 0.0, 1.0)
    # with no box a room is infinite, and the first pixel takes it all
    steepest = jnp.take_along_axis(flat, order, axis=1)
    alone = jnp.where(before == 0, rise[:, None] / jnp.where(steepest == 0, jnp.inf, steepest), 0.0)
    moves = jnp.where(jnp.isfinite(gains), share * jnp.take_along_axis(room, order, axis=1), alone)
    moves = jnp.where(gains > 0, moves, 0.0)
    places = jnp.argsort(order, axis=1)
    return jnp.take_along_axis(moves, places, axis=1).reshape(towards.shape)
