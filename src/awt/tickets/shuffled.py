"""Another method's mask, permuted within each layer: a ticket that loses nothing by it was only layer densities."""

import jax

from awt.keys import key
from awt.models.network import Masks
from awt.options import options
from awt.tickets.method import Method, Needs
from awt.tickets.setting import Setting, Ticket


@options
class Options:
    mask_of: str  # the method whose mask is shuffled


def shuffle(mask: Masks, seed: int = 0) -> Masks:
    """Permutes a mask within each layer: every layer keeps as many weights as before, anywhere in it."""
    return {
        name: jax.random.permutation(key(seed, "shuffled", name), kept.ravel()).reshape(kept.shape)
        for name, kept in mask.items()
    }


def shuffled(setting: Setting, options: Options) -> Ticket:
    assert setting.other is not None
    return Ticket(shuffle(setting.other, setting.seed))


METHOD = Method(shuffled, Options, lambda options: Needs(mask_of=options.mask_of))
