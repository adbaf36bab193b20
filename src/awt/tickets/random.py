"""A random mask: the honest floor under every method."""

import jax

from awt.keys import key
from awt.tickets.masks import select
from awt.tickets.setting import Setting, Ticket


def random(setting: Setting) -> Ticket:
    shapes = setting.network.kernel_shapes
    scores = {name: jax.random.uniform(key(setting.seed, "random mask", name), shape) for name, shape in shapes.items()}
    return Ticket(select(scores, setting.kept))
