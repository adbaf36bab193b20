"""No pruning: what every ticket is compared with."""

import jax.numpy as jnp

from awt.tickets.setting import Setting, Ticket


def dense(setting: Setting) -> Ticket:
    return Ticket({name: jnp.ones(shape, bool) for name, shape in setting.network.kernel_shapes.items()})
