"""GraSP (Wang et al., 2020): the weights whose removal would lower the norm of the gradient most.

Removing a weight changes ‖g‖² by −2 θ (Hg) to first order, so that the largest θ∘(Hg) are kept, signs included.
"""

from functools import partial

import jax
import jax.numpy as jnp

from awt.models.network import Masks, Network, Weights
from awt.tickets.masks import select
from awt.tickets.method import Method
from awt.tickets.scores import Scoring, batches, gradient, kernels, mean_gradient, scoring_flops, with_kernels
from awt.tickets.setting import Setting, Ticket


def grasp(setting: Setting, options: Scoring) -> Ticket:
    flow, weights = mean_gradient(setting, options), kernels(setting.initial)
    products = [_hessian_product(setting.network, setting.initial, flow, x, y) for x, y in batches(setting, options)]
    curvature: Masks = jax.tree.map(lambda *parts: jnp.mean(jnp.stack(parts), axis=0), *products)
    return Ticket(select({name: weights[name] * curvature[name] for name in weights}, setting.kept(options.scope)))


@partial(jax.jit, static_argnames="network")
def _hessian_product(network: Network, weights: Weights, vector: Masks, x: jax.Array, y: jax.Array) -> Masks:
    """H v over the kernels."""

    def at(found: Masks) -> Masks:
        return gradient(network, with_kernels(weights, found), x, y)

    return jax.jvp(at, (kernels(weights),), (vector,))[1]


# the gradient, and the gradient's derivative along it
METHOD = Method(grasp, Scoring, flops=scoring_flops(3 + 3 + 6))
