"""Square (Andriushchenko et al., 2020): random search without gradients, changing one square of the image at a time.

In ℓ∞ the perturbation starts as vertical stripes of ±ε, and a proposal sets a square to ±ε. In ℓ2 and ℓ1 it is a sum of
bumps, and a proposal takes what size one window has, and what is left of ε, into another. Squares shrink on a schedule.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from awt.attacks.attacker import Best, Points, by_point, fold_in, in_turn
from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits, fooled, margin

First = Callable[[jax.Array], jax.Array]  # of keys, the images that the search starts from
Proposal = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]  # of keys, the best so far and the level, new images

SHRINKS = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)  # of 10,000 queries: the square's area halves after each


@dataclass(frozen=True)
class Square:
    queries: int = 5000
    share: float = 0.8  # of the image, the first square
    restarts: int = 1
    name: str = "square"

    norms = ("linf", "l2", "l1")

    def tries(self, classes: int) -> list[int | None]:
        return in_turn(0, self.restarts, classes)

    def passes(self, classes: int) -> float:
        """What a try costs: passes through the network, or back to its input."""
        return self.queries

    @property
    def beside(self) -> float:
        """What a try costs beside its passes: operations by pixel, of its random numbers (measured)."""
        return 400.0 * self.queries

    def __call__(self, logits: Logits, ball: Ball, points: Points) -> jax.Array:
        x, y = points.x, points.y
        propose = _stripes_and_squares if ball.norm == "linf" else _bumps
        first, proposal = propose(ball, x, self.sides(x.shape[1], x.shape[2], 1 if ball.norm == "linf" else 3))

        def judged(moved: jax.Array) -> tuple[jax.Array, jax.Array]:
            found = logits(moved)
            return margin(found, y), fooled(found, y)

        def step(state: tuple[int, Best]) -> tuple[int, Best]:
            number, best = state
            level = jnp.searchsorted(jnp.asarray(SHRINKS), number * 10_000 // self.queries, side="left")
            moved = proposal(fold_in(points.keys, number), best.x, level)
            return number + 1, best.seen(moved, *judged(moved))

        start = first(fold_in(points.keys, 0))
        state = 1, Best.start(points).seen(start, *judged(start))
        _, best = jax.lax.while_loop(lambda state: (state[0] < self.queries) & ~jnp.all(state[1].broken), step, state)
        return best.x

    def sides(self, height: int, width: int, least: int) -> tuple[int, ...]:
        """By level of the schedule, the side of the square."""
        areas = [self.share / 2**level for level in range(len(SHRINKS) + 1)]
        found = [min(max(round(math.sqrt(area * height * width)), least), min(height, width) - 1) for area in areas]
        return tuple(max(side, 1) for side in found)


def _stripes_and_squares(ball: Ball, x: jax.Array, sides: tuple[int, ...]) -> tuple[First, Proposal]:
    _, height, width, channels = x.shape
    rows, columns = jnp.arange(height)[:, None, None], jnp.arange(width)[None, :, None]

    def first(keys: jax.Array) -> jax.Array:
        signs = jax.vmap(lambda key: jax.random.rademacher(key, (1, width, channels), jnp.float32))(keys)
        return ball.project(x, x + ball.eps * ball.units * signs)

    def proposal(keys: jax.Array, best: jax.Array, level: jax.Array) -> jax.Array:
        side = jnp.asarray(sides)[level]

        def change(key: jax.Array) -> jax.Array:
            place, sign = jax.random.split(key)
            down, right = jax.random.randint(place, (2,), 0, jnp.array([height, width]) - side + 1)
            inside = (rows >= down) & (rows < down + side) & (columns >= right) & (columns < right + side)
            return inside * jax.random.rademacher(sign, (1, 1, channels), jnp.float32)

        return ball.project(x, best + 2 * ball.eps * ball.units * jax.vmap(change)(keys))

    return first, proposal


def _bumps(ball: Ball, x: jax.Array, sides: tuple[int, ...]) -> tuple[First, Proposal]:
    _, height, width, channels = x.shape
    sides = tuple(side if side % 2 or side == 1 else side - 1 for side in sides)
    patterns = jnp.asarray(np.stack([_placed(_bump(side), height, width) for side in sides]))
    windows = jnp.asarray(np.stack([_placed(np.ones((side, side)), height, width) for side in sides]))
    power = 2.0 if ball.norm == "l2" else 1.0

    def length(r: jax.Array, inside: jax.Array) -> jax.Array:
        """Of a perturbation [height, width, channels] by channel, in a window."""
        return jnp.sum(jnp.abs(r * inside) ** power, axis=(0, 1), keepdims=True)

    def at(place: jax.Array, picture: jax.Array) -> jax.Array:
        return jnp.roll(picture, place, axis=(0, 1))[..., None]

    def full(r: jax.Array) -> jax.Array:
        """Scaled to the size ε, in pixels."""
        return ball.eps * ball.units * r / jnp.maximum(by_point(_norm(r, power)), 1e-12)

    def first(keys: jax.Array) -> jax.Array:
        side = max(min(height, width) // 5, 1)
        grid = np.zeros((height, width))
        count = min(height, width) // side
        for down in range(count):
            for right in range(count):
                grid[down * side : (down + 1) * side, right * side : (right + 1) * side] = _bump(side)
        blocks = np.arange(height)[:, None] // side * width + np.arange(width) // side

        def pattern(key: jax.Array) -> jax.Array:
            signs = jax.random.rademacher(key, (height * width, channels), jnp.float32)
            return jnp.asarray(grid, jnp.float32)[..., None] * signs[jnp.asarray(blocks)]

        return ball.project(x, x + full(jax.vmap(pattern)(keys)))

    def proposal(keys: jax.Array, best: jax.Array, level: jax.Array) -> jax.Array:
        side, bump, window = jnp.asarray(sides)[level], patterns[level], windows[level]
        room = jnp.array([height, width]) - side + 1

        def change(key: jax.Array, r: jax.Array) -> jax.Array:
            to_key, from_key, sign_key, turn_key = jax.random.split(key, 4)
            to, source = (jax.random.randint(here, (2,), 0, room) for here in (to_key, from_key))
            into, out_of = at(to, window), at(source, window)
            signs = jax.random.rademacher(sign_key, (1, 1, channels), jnp.float32)
            turned = jnp.where(jax.random.bernoulli(turn_key), bump, bump.T) if height == width else bump
            kept = r * into / jnp.maximum(length(r, into) ** (1 / power), 1e-12)
            fresh = at(to, turned) * signs + kept
            unused = jnp.maximum(ball.eps**power - jnp.sum(length(r, jnp.ones(()))), 0.0) / channels
            size = (unused + length(r, jnp.maximum(into, out_of))) ** (1 / power)
            fresh = fresh / jnp.maximum(length(fresh, into) ** (1 / power), 1e-12) * size
            return r * (1 - jnp.maximum(into, out_of)) + fresh

        return ball.project(x, x + full(jax.vmap(change)(keys, (best - x) / ball.units)))

    return first, proposal


def _norm(r: jax.Array, power: float) -> jax.Array:
    return jnp.sum(jnp.abs(r) ** power, axis=(1, 2, 3)) ** (1 / power)


def _placed(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """In the corner of an empty image."""
    found = np.zeros((height, width), np.float32)
    found[: picture.shape[0], : picture.shape[1]] = picture
    return found


def _bump(side: int) -> np.ndarray:
    """Two halves of opposite sign, each highest in its middle, of ℓ2 size 1."""
    half = side // 2
    picture = np.vstack([_hill(half, side), -_hill(side - half, side)]) if half else np.ones((1, 1))
    return picture / np.sqrt((picture**2).sum())


def _hill(height: int, width: int) -> np.ndarray:
    """Σ_{k ≥ d} 1/(k + 1)², d being the larger of the distances from the middle's row and column."""
    down, right = (np.abs(np.arange(side) - side // 2) for side in (height, width))
    tail = np.cumsum(1.0 / np.arange(1, max(height, width) + 2)[::-1] ** 2)[::-1]
    return tail[np.maximum(down[:, None], right)]
