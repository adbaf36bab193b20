"""Inverse weight inheritance: a small network trained adversarially hands its weights to the large one.

The small network is the magnitude mask's; the large one starts from its trained weights and, elsewhere, from θ₀. All of
it is trained then: its result is dense, and is reported as such.
"""

import jax.numpy as jnp

from awt.params import Retrain
from awt.tickets.masks import magnitudes, select
from awt.tickets.setting import Setting, Ticket
from awt.training.adversarial import train


def iwi(setting: Setting) -> Ticket:
    search = setting.search
    mask = select(magnitudes(setting.initial), setting.kept)
    training = Retrain(
        epochs=search.epochs, batch=search.batch, learning_rate=search.teacher_rate, attack=search.attack
    )
    small, _ = train(
        setting.network, setting.initial, mask, setting.dataset, setting.threat, training, setting.seed, setting.context
    )
    start = {
        name: {"kernel": jnp.where(mask[name], small[name]["kernel"], layer["kernel"]), "bias": small[name]["bias"]}
        for name, layer in setting.initial.items()
    }
    return Ticket(mask, start=start, trains_all=True)
