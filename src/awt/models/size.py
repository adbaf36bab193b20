"""What a network costs for one point: operations, and numbers to hold; and how large a problem is."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from awt.models.layers import Conv, Dense, MaxPool
from awt.models.network import Network


class LayerSize(NamedTuple):
    """A weighted layer: a matrix product of what it sees and its kernel, at each of its positions."""

    positions: int  # of a dense layer 1
    seen: int  # values that an output depends on
    units: int

    @property
    def forward(self) -> float:
        """Operations: a product and a sum for each weight, at each position."""
        return 2.0 * self.positions * self.seen * self.units

    @property
    def is_dense(self) -> bool:
        return self.positions == 1


class Size(NamedTuple):
    """`forward`: operations of a pass. Back to the input costs as much again, back to the weights too."""

    layers: tuple[LayerSize, ...]

    @property
    def forward(self) -> float:
        return sum(layer.forward for layer in self.layers)

    @property
    def weights(self) -> int:
        """Biases included."""
        return sum((layer.seen + 1) * layer.units for layer in self.layers)

    @property
    def values(self) -> int:
        """Numbers that a pass makes: what each layer sees (of a convolution, patches) and what comes out of it."""
        return sum(layer.positions * (layer.seen + layer.units) for layer in self.layers)


def size(network: Network, shape: tuple[int, int, int]) -> Size:
    height, width, _ = shape
    found = []
    for layer in network.layers:
        if isinstance(layer, Conv):
            found.append(LayerSize(height * width, math.prod(layer.kernel_shape[:-1]), layer.units))
        elif isinstance(layer, Dense):
            found.append(LayerSize(1, layer.inputs, layer.units))
        elif isinstance(layer, MaxPool):
            height, width = height // 2, width // 2
    return Size(tuple(found))


class Problem(NamedTuple):
    """What costs depend on beside options: the network's size, the classes, the points of each part of the data."""

    size: Size
    classes: int
    counts: Mapping[str, int]

    @property
    def forward(self) -> float:
        return self.size.forward

    def points(self, batch: int) -> int:
        """Training points that an epoch meets: the ragged rest is left out."""
        return self.counts["train"] // batch * batch
