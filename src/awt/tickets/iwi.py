"""Inverse weight inheritance: a small network trained adversarially hands its weights to the large one.

The small network is the magnitude mask's; the large one starts from its trained weights and, elsewhere, from θ₀. All of
it is trained then: its result is dense, and is reported as such.
"""

import jax.numpy as jnp

from awt.models.size import Problem
from awt.tickets.masks import magnitudes, select
from awt.tickets.method import Method
from awt.tickets.searching import Searching, step_flops
from awt.tickets.setting import Setting, Ticket
from awt.training.adversarial import train
from awt.training.cost import attack_passes
from awt.training.options import Training


def iwi(setting: Setting, options: Searching) -> Ticket:
    mask = select(magnitudes(setting.initial), setting.kept(options.scope))
    training = Training(
        epochs=options.epochs, batch=options.batch, learning_rate=options.learning_rate, attack=options.attack
    )
    small, _ = train(
        setting.network, setting.initial, mask, setting.dataset, setting.threat, training, setting.seed, setting.watch
    )
    start = {
        name: {"kernel": jnp.where(mask[name], small[name]["kernel"], layer["kernel"]), "bias": small[name]["bias"]}
        for name, layer in setting.initial.items()
    }
    return Ticket(mask, start=start, trains_all=True)


def flops(options: Searching, eps: float, problem: Problem) -> float:
    validation = problem.counts["validation"] * (attack_passes(options.attack, eps) + 2)
    return step_flops(options, eps, problem) + options.epochs * validation * problem.forward


METHOD = Method(iwi, Searching, gives_start=lambda options: True, trains_all=True, flops=flops)
