"""What the methods that score weights at initialisation share: the loss on some batches, natural or attacked."""

from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import optax

from awt.attacks.pgd import attacked
from awt.keys import key
from awt.models.network import Masks, Network, Weights
from awt.models.size import Problem
from awt.options import options
from awt.tickets.method import Attacking, Positive
from awt.tickets.setting import Setting
from awt.training.cost import attack_passes


@options
class Scoring(Attacking):
    score_batches: Positive = 10  # that weights are scored on


def scoring_flops(passes: float) -> Callable[[Scoring, float, Problem], float]:
    """Of so many passes a point beside the attack."""

    def flops(options: Scoring, eps: float, problem: Problem) -> float:
        points = min(options.score_batches * options.batch, problem.points(options.batch))
        return points * (attack_passes(options.attack, eps) + 1 + passes) * problem.forward

    return flops


def kernels(weights: Weights) -> Masks:
    return {name: layer["kernel"] for name, layer in weights.items()}


def with_kernels(weights: Weights, kernels: Masks) -> Weights:
    return {name: {"kernel": kernels[name], "bias": layer["bias"]} for name, layer in weights.items()}


def batches(setting: Setting, options: Scoring) -> Iterator[tuple[jax.Array, jax.Array]]:
    """The first batches, as their attacked selves under the search's threat (natural, where its ε is 0)."""
    x, y = setting.batches
    base = key(setting.seed, "scores", "attack")
    for number in range(min(options.score_batches, len(x))):
        here = jax.random.fold_in(base, number)
        moved, _ = attacked(
            setting.network, setting.threat, options.attack, setting.initial, x[number], y[number], here
        )
        yield moved, y[number]


def loss(network: Network, weights: Weights, x: jax.Array, y: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(network.apply(weights, x), y).mean()


@partial(jax.jit, static_argnames="network")
def gradient(network: Network, weights: Weights, x: jax.Array, y: jax.Array) -> Masks:
    """Of the loss, with respect to the kernels."""
    return kernels(jax.grad(partial(loss, network))(weights, x, y))


def mean_gradient(setting: Setting, options: Scoring) -> Masks:
    found = [gradient(setting.network, setting.initial, x, y) for x, y in batches(setting, options)]
    return jax.tree.map(lambda *parts: jnp.mean(jnp.stack(parts), axis=0), *found)
