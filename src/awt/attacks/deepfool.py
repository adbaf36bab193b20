"""DeepFool (Moosavi-Dezfooli et al., 2016): steps to the nearest boundary of the linearised network."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from awt.attacks.attacker import Points, by_point, in_turn
from awt.attacks.ball import Ball
from awt.attacks.fab import to_boundary
from awt.attacks.objectives import Logits, fooled

BEYOND = 1.02


@dataclass(frozen=True)
class DeepFool:
    steps: int = 50
    name: str = "deepfool"

    norms = ("linf", "l2")

    def tries(self, classes: int) -> list[int | None]:
        return in_turn(0, 1, classes)

    def passes(self, classes: int) -> float:
        """What a try costs: passes through the network, or back to its input."""
        return (classes + 2) * self.steps

    def __call__(self, logits: Logits, ball: Ball, points: Points) -> jax.Array:
        clean, y = points.x, points.y
        classes = jax.eval_shape(logits, clean).shape[1]
        own = jax.nn.one_hot(y, classes, dtype=bool)

        def step(state: tuple[int, jax.Array, jax.Array]) -> tuple[int, jax.Array, jax.Array]:
            number, x, done = state
            found, pull = jax.vjp(logits, x)
            slopes = jax.vmap(lambda column: pull(jnp.broadcast_to(column, found.shape))[0])(jnp.eye(classes))
            slope_y = jnp.einsum("cnhwk,nc->nhwk", slopes, own.astype(found.dtype))
            value_y = jnp.sum(jnp.where(own, found, 0.0), axis=1)
            differences = slopes - slope_y  # [classes, n, …]
            gaps = (value_y[:, None] - found).T  # how far each class lies behind, [classes, n]
            # the dual norm: how fast a class gains along its steepest direction
            scaled = jnp.abs(differences * ball.units)
            dual = scaled.sum(axis=(2, 3, 4)) if ball.norm == "linf" else jnp.sqrt((scaled**2).sum(axis=(2, 3, 4)))
            distance = jnp.where(own.T, jnp.inf, gaps / jnp.maximum(dual, 1e-12))
            nearest = jnp.argmin(distance, axis=0)
            slope = jnp.take_along_axis(differences, nearest.reshape(1, -1, 1, 1, 1), axis=0)[0]
            rise = jnp.take_along_axis(gaps, nearest[None], axis=0)[0]
            ahead = jnp.clip(x + BEYOND * to_boundary(ball, x, slope, rise), *ball.box)
            x = jnp.where(by_point(done), x, ahead)
            return number + 1, x, done | fooled(logits(x), y)

        start = 0, clean, ~points.live | fooled(logits(clean), y)
        _, x, _ = jax.lax.while_loop(lambda state: (state[0] < self.steps) & ~jnp.all(state[2]), step, start)
        return jnp.where(by_point(ball.size(x - clean) <= ball.eps), x, clean)
