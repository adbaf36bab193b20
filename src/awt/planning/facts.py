"""What the costs of cells depend on beside their own parameters: the data and the network."""

from dataclasses import dataclass

from awt.planning.outline import Outline
from awt.planning.size import Size

PROCESS = 0.35e9  # bytes of a process with JAX, before any array
FLOAT = 4  # bytes
OPTIMISER = 6  # copies of the weights: themselves, masked, their gradient, Adam's two, the mask
SAVED = 2  # of the values of a pass: those that the way back needs, and what it makes of them


@dataclass(frozen=True)
class Facts:
    data: Outline
    size: Size
    tile_bytes: float  # that the computation of a tile takes

    @property
    def forward(self) -> float:
        return self.size.forward

    @property
    def classes(self) -> int:
        return self.data.classes

    def points(self, batch: int) -> int:
        """Training points that an epoch meets: the ragged rest is left out."""
        return self.data.counts["train"] // batch * batch

    def memory(self, batch: float, copies: int = 1, weights: int = OPTIMISER) -> float:
        """Of a process that has decoded the data set, with some copies of the training points, at work on a batch."""
        data = self.data.points * self.data.pixels * (FLOAT + self.data.itemsize)
        data += copies * self.data.counts["train"] * self.data.pixels * FLOAT
        return PROCESS + data + FLOAT * (weights * self.size.weights + SAVED * batch * self.size.values)
