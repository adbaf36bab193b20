"""ℓ(f(x), y) + λ KL(f(x)‖f(x + r)), r raising the divergence (Zhang et al., 2019)."""

from dataclasses import replace
from typing import Annotated

import jax
from annotated_types import Gt

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits, kl_divergence
from awt.attacks.pgd import Attack, ascend
from awt.models.network import Weights
from awt.options import options
from awt.training.objectives.objective import Function, Loss, Objective


@options
class Options:
    weight: Annotated[float, Gt(0)] = 6.0  # λ


def attacked(
    options: Options, logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
) -> jax.Array:
    natural = jax.lax.stop_gradient(logits(x))
    started = replace(attack, random_start=True)  # at r = 0 the divergence has no slope
    return ascend(lambda moved: kl_divergence(natural, logits(moved)), ball, started, x, key)


def loss(
    options: Options,
    cross_entropy: Loss,
    function: Function,
    weights: Weights,
    x: jax.Array,
    moved: jax.Array,
    y: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    logits = function(weights, moved)
    natural = function(weights, x)
    return cross_entropy(natural, y) + options.weight * kl_divergence(natural, logits).mean(), logits


OBJECTIVE = Objective(attacked, lambda steps, classes: 2 * steps + 7, loss, Options)
