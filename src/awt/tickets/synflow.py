"""SynFlow (Tanaka et al., 2020): without data, the weights through which most of 1ᵀ ∏|W| 1 flows, in rounds.

The density falls geometrically over the rounds, so that no layer is cut off; at the lowest densities a layer's last
weight is kept all the same. Layers are scaled to mean 1 first: it multiplies all scores by one number, and keeps the
product of many layers within float32.
"""

from functools import partial

import jax
import jax.numpy as jnp

from awt.models.network import Masks, Network
from awt.options import options
from awt.tickets.masks import in_rounds, select
from awt.tickets.method import Method, Positive, Scoped
from awt.tickets.scores import kernels
from awt.tickets.setting import Setting, Ticket


@options
class Options(Scoped):
    rounds: Positive = 100  # prunings, each from the density before


def synflow(setting: Setting, options: Options) -> Ticket:
    kept = jnp.asarray(in_rounds(setting.network.kernel_shapes, setting.density, options.scope, options.rounds))
    sizes = {name: jnp.abs(kernel) / jnp.mean(jnp.abs(kernel)) for name, kernel in kernels(setting.initial).items()}
    return Ticket(_prune(setting.network, sizes, jnp.ones((1, *setting.dataset.shape)), kept))


@partial(jax.jit, static_argnames="network")
def _prune(network: Network, sizes: Masks, x: jax.Array, kept: jax.Array) -> Masks:
    def flow(sizes: Masks) -> jax.Array:
        weights = {
            layer.name: {"kernel": sizes[layer.name], "bias": jnp.zeros(layer.units)} for layer in network.weighted
        }
        return jnp.sum(network.apply(weights, x))

    def step(number: int, mask: Masks) -> Masks:
        left = {name: jnp.where(mask[name], size, 0.0) for name, size in sizes.items()}
        slopes = jax.grad(flow)(left)
        # what is pruned stays so
        scores = {name: jnp.where(mask[name], left[name] * slopes[name], -1.0) for name in left}
        return select(scores, kept[number])

    return jax.lax.fori_loop(0, len(kept), step, network.everything())


METHOD = Method(synflow, Options, flops=lambda options, eps, problem: 3.0 * options.rounds * problem.forward)
