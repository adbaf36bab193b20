"""Projected gradient descent on the cross-entropy."""

from collections.abc import Callable
from functools import partial

import jax
import optax

from awt.attacks.ball import Ball
from awt.models.network import Network, Weights
from awt.params import Attack


def pgd(
    logits: Callable[[jax.Array], jax.Array],
    ball: Ball,
    attack: Attack,
    x: jax.Array,
    y: jax.Array,
    key: jax.Array,
) -> jax.Array:
    """Adversarial examples of x with labels y: steps along the steepest ascent, projected back into the ball.

    No gradient flows from the result back into the network. With ε = 0 it is x itself.
    """
    if ball.eps == 0.0:
        return x
    step_size = 2.5 * ball.eps / attack.steps if attack.step_size is None else attack.step_size

    def loss(moved: jax.Array) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(logits(moved), y).sum()

    def step(_: int, moved: jax.Array) -> jax.Array:
        return ball.project(x, moved + step_size * ball.steepest(jax.grad(loss)(moved)))

    start = ball.random(key, x) if attack.random_start else x
    return jax.lax.stop_gradient(jax.lax.fori_loop(0, attack.steps, step, start))


@partial(jax.jit, static_argnames=("network", "ball", "attack"))
def attacked(
    network: Network, ball: Ball, attack: Attack, weights: Weights, x: jax.Array, y: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Adversarial examples of a network, and its outputs on them; compiled once for all weights and keys."""
    moved = pgd(partial(network.apply, weights), ball, attack, x, y, key)
    return moved, network.apply(weights, moved)
