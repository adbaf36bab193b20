"""What every method is given, and what it returns."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from awt.artifacts import Arrays
from awt.attacks.ball import Ball
from awt.data.dataset import Dataset
from awt.models.network import Masks, Network, Weights
from awt.params import Search
from awt.runtime import Context
from awt.runtime.resume import Row
from awt.tickets.masks import counts


@dataclass(frozen=True)
class Setting:
    """A network at its initial weights, the density asked for, the data; and what only some methods are given."""

    network: Network
    initial: Weights
    density: float
    seed: int
    search: Search  # the keys that the method reads, and no others: see awt.tickets.cells
    threat: Ball
    dataset: Dataset
    context: Context
    indices: np.ndarray | None = None  # of the fixed batches, [batches, n]
    teacher: Weights | None = None  # the dense network, trained a little way or not at all
    outputs: jax.Array | None = None  # of the teacher on its adversarial examples, by batch
    views: Arrays = field(default_factory=dict)  # of the teacher's kernel: search, held_out
    other: Masks | None = None  # the mask of another method

    @property
    def kept(self) -> jax.Array:
        return jnp.asarray(counts(self.network.kernel_shapes, self.density, self.search.scope))

    @property
    def batches(self) -> tuple[jax.Array, jax.Array]:
        """The fixed batches: x [batches, n, height, width, channels] and y [batches, n]."""
        return jnp.asarray(self.dataset.train_x[self.indices]), jnp.asarray(self.dataset.train_y[self.indices])


@dataclass(frozen=True)
class Ticket:
    """A mask; the search's figures by epoch where there was a search; where the method defines them, the weights that
    training starts from instead of the initial ones, and whether it trains all weights, kept or not."""

    mask: Masks
    curve: list[Row] = field(default_factory=list)
    start: Weights | None = None
    trains_all: bool = False
