"""What every method is given, and what it returns."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from awt.artifacts import Arrays
from awt.attacks.ball import Ball
from awt.models.network import Masks, Network, Weights
from awt.params import Search
from awt.runtime import Context
from awt.runtime.resume import Row
from awt.tickets.masks import counts


@dataclass(frozen=True)
class Setting:
    """A network at its initial weights, the density asked for, and the dense network's side by batch."""

    network: Network
    initial: Weights
    density: float
    seed: int
    search: Search
    threat: Ball
    x: jax.Array  # [batches, n, height, width, channels]
    y: jax.Array  # [batches, n]
    dense_side: Arrays  # adversarial, outputs
    views: Arrays  # of the dense kernel: search, held_out
    context: Context

    @property
    def kept(self) -> jax.Array:
        return jnp.asarray(counts(self.network.kernel_shapes, self.density, self.search.scope))


@dataclass(frozen=True)
class Ticket:
    """A mask, and the search's figures by epoch where there was a search."""

    mask: Masks
    curve: list[Row] = field(default_factory=list)
