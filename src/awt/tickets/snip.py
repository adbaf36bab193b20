"""SNIP (Lee et al., 2019): the weights whose removal changes the loss most, |θ ∂L/∂θ| at initialisation.

Where all scores of a layer are zero (no gradient reaches it), its first weight is kept: no layer ends empty.
"""

import jax.numpy as jnp

from awt.tickets.masks import select
from awt.tickets.method import Method
from awt.tickets.scores import Scoring, kernels, mean_gradient, scoring_flops
from awt.tickets.setting import Setting, Ticket


def snip(setting: Setting, options: Scoring) -> Ticket:
    gradient, weights = mean_gradient(setting, options), kernels(setting.initial)
    return Ticket(
        select({name: jnp.abs(weights[name] * gradient[name]) for name in weights}, setting.kept(options.scope))
    )


METHOD = Method(snip, Scoring, flops=scoring_flops(3))
