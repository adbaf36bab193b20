"""Another method's mask, permuted within each layer: a ticket that loses nothing by it was only layer densities."""

import jax

from awt.keys import key
from awt.options import options
from awt.tickets.method import Method, Needs
from awt.tickets.setting import Setting, Ticket


@options
class Options:
    mask_of: str  # the method whose mask is shuffled


def shuffled(setting: Setting, options: Options) -> Ticket:
    assert setting.other is not None
    mask = {
        name: jax.random.permutation(key(setting.seed, "shuffled", name), kept.ravel()).reshape(kept.shape)
        for name, kept in setting.other.items()
    }
    return Ticket(mask)


METHOD = Method(shuffled, Options, lambda options: Needs(mask_of=options.mask_of))
