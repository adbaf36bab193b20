"""ℓ(f(x + r), y), r raising the margin of the class for which it gets highest (Robey et al., 2024)."""

import jax
import jax.numpy as jnp

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits, objective
from awt.attacks.pgd import Attack, ascend
from awt.training.objectives.objective import NoOptions, Objective


def attacked(
    options: NoOptions, logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
) -> jax.Array:
    """Each point towards every class in turn; of these the one that its class came out highest above the label."""
    classes = jax.eval_shape(logits, x).shape[1]
    many_x, many_y = jnp.repeat(x, classes, axis=0), jnp.repeat(y, classes)
    target = jnp.tile(jnp.arange(classes), len(y))
    margin = objective("margin", many_y, target)
    moved = ascend(lambda moved: margin(logits(moved)), ball, attack, many_x, key)
    reached = jnp.where(target == many_y, -jnp.inf, margin(logits(moved))).reshape(len(y), classes)
    best = jnp.argmax(reached, axis=1)
    return jax.lax.stop_gradient(moved.reshape(len(y), classes, *x.shape[1:])[jnp.arange(len(y)), best])


OBJECTIVE = Objective(attacked, passes=lambda steps, classes: classes * (2 * steps + 1) + 3)
