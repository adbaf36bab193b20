"""What every method is given, and what it returns."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from awt.artifacts import Arrays
from awt.attacks.ball import Ball
from awt.data.dataset import Dataset
from awt.loop import UNWATCHED, Row, Watch
from awt.models.network import Masks, Network, Weights
from awt.tickets.masks import Scope, counts

NO_THREAT = Ball("linf", 0.0, (1.0,), clip=True)


@dataclass(frozen=True)
class Setting:
    """A network at its initial weights, the density asked for, the data; and what only some methods are given."""

    network: Network
    initial: Weights
    density: float
    seed: int
    dataset: Dataset
    threat: Ball = NO_THREAT
    watch: Watch = UNWATCHED
    indices: np.ndarray | None = None  # of the fixed batches, [batches, n]
    teacher: Weights | None = None  # the dense network, trained a little way or not at all
    outputs: jax.Array | None = None  # of the teacher on its adversarial examples, by batch
    views: Arrays = field(default_factory=dict)  # of the teacher's kernel: search, held_out
    other: Masks | None = None  # the mask of another method

    def kept(self, scope: Scope) -> jax.Array:
        return jnp.asarray(counts(self.network.kernel_shapes, self.density, scope))

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
