"""What an objective is: how it attacks a batch, how it judges weights on it, its typed options, what it costs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import optax

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits
from awt.attacks.pgd import Attack
from awt.errors import InputError
from awt.loading import load
from awt.models.network import Weights
from awt.options import options

Function = Callable[[Weights, jax.Array], jax.Array]  # weights, images -> logits
Loss = Callable[[jax.Array, jax.Array], jax.Array]  # logits, labels -> the mean cross-entropy


@options
class NoOptions:
    """Of an objective that has none."""


_NO_OPTIONS = NoOptions()


def _of_attacked(
    options: Any,
    cross_entropy: Loss,
    function: Function,
    weights: Weights,
    x: jax.Array,
    moved: jax.Array,
    y: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    logits = function(weights, moved)
    return cross_entropy(logits, y), logits


@dataclass(frozen=True)
class Objective:
    """`attacked`: of options, logits, ball, attack, images, labels and a key, the batch that weights are judged on.
    `loss`: the mean loss, and the logits of what was attacked. `passes`: how often a step goes through the network, of
    the attack's steps and the number of classes."""

    attacked: Callable[[Any, Logits, Ball, Attack, jax.Array, jax.Array, jax.Array], jax.Array]
    passes: Callable[[int, int], float]
    loss: Callable[..., tuple[jax.Array, jax.Array]] = _of_attacked
    options: type = NoOptions
    attacks: bool = True


@dataclass(frozen=True)
class Goal:
    """An objective with its options: hashable, as a part of what a training step is compiled for."""

    objective: Objective
    options: Any = _NO_OPTIONS
    label_smoothing: float = 0.0

    def attacked(
        self, logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
    ) -> jax.Array:
        """The batch that the loss is judged on."""
        return self.objective.attacked(self.options, logits, ball, attack, x, y, key)

    def loss(
        self, function: Function, weights: Weights, x: jax.Array, moved: jax.Array, y: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """The mean loss, and the logits of what was attacked."""
        return self.objective.loss(self.options, self._cross_entropy, function, weights, x, moved, y)

    def _cross_entropy(self, logits: jax.Array, y: jax.Array) -> jax.Array:
        if self.label_smoothing == 0.0:
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
        labels = optax.smooth_labels(jax.nn.one_hot(y, logits.shape[1]), self.label_smoothing)
        return optax.softmax_cross_entropy(logits, labels).mean()


def objective(reference: str) -> Objective:
    """What `module:name` names."""
    named = load(reference)
    if not isinstance(named, Objective):
        raise InputError(f"{reference}: no Objective of awt.training.objectives.objective")
    return named
