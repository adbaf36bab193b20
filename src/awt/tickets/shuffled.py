"""Another method's mask, permuted within each layer: a ticket that loses nothing by it was only layer densities."""

import jax

from awt.keys import key
from awt.tickets.setting import Setting, Ticket


def shuffled(setting: Setting) -> Ticket:
    assert setting.other is not None
    mask = {
        name: jax.random.permutation(key(setting.seed, "shuffled", name), kept.ravel()).reshape(kept.shape)
        for name, kept in setting.other.items()
    }
    return Ticket(mask)
