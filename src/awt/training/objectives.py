"""What one step of training minimises: every objective attacks the batch in its own way, and judges weights on it.

natural: ℓ(f(x), y). fgsm: one step of 1.25 ε from a random point (Wong et al., 2020). pgd: Madry et al., 2018. trades:
ℓ(f(x), y) + λ KL(f(x)‖f(x + r)), r raising the divergence (Zhang et al., 2019). beta: r raises the margin of the class
for which it gets highest, then ℓ(f(x + r), y) (Robey et al., 2024).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import optax

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits, kl_divergence, objective
from awt.attacks.pgd import Attack, ascend, pgd
from awt.models.network import Weights

Function = Callable[[Weights, jax.Array], jax.Array]  # weights, images -> logits


@dataclass(frozen=True)
class Objective:
    """Hashable, as a part of what a training step is compiled for."""

    name: str
    trades_weight: float  # λ
    label_smoothing: float

    def attacked(
        self, logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
    ) -> jax.Array:
        """The batch that the loss is judged on."""
        if self.name == "natural":
            return x
        if self.name == "fgsm":
            single = Attack(steps=1, step_size=None, random_start=True)
            return pgd(logits, ball, single, x, y, key, step=1.25 * ball.eps)
        if self.name == "trades":
            natural = jax.lax.stop_gradient(logits(x))
            started = replace(attack, random_start=True)  # at r = 0 the divergence has no slope
            return ascend(lambda moved: kl_divergence(natural, logits(moved)), ball, started, x, key)
        if self.name == "beta":
            return _highest_margin(logits, ball, attack, x, y, key)
        return pgd(logits, ball, attack, x, y, key)

    def loss(
        self, function: Function, weights: Weights, x: jax.Array, moved: jax.Array, y: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """The mean loss, and the logits of what was attacked."""
        logits = function(weights, moved)
        if self.name != "trades":
            return self._cross_entropy(logits, y), logits
        natural = function(weights, x)
        return self._cross_entropy(natural, y) + self.trades_weight * kl_divergence(natural, logits).mean(), logits

    def _cross_entropy(self, logits: jax.Array, y: jax.Array) -> jax.Array:
        if self.label_smoothing == 0.0:
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
        labels = optax.smooth_labels(jax.nn.one_hot(y, logits.shape[1]), self.label_smoothing)
        return optax.softmax_cross_entropy(logits, labels).mean()


PGD = Objective("pgd", trades_weight=6.0, label_smoothing=0.0)


def _highest_margin(
    logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
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
