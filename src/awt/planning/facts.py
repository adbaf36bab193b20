"""What the costs of cells depend on beside their own parameters: the data and the network."""

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from awt.data.dataset import Description
from awt.models.architecture import Model, build
from awt.models.size import Problem, Size, size
from awt.options import from_json

PROCESS = 0.35e9  # bytes of a process with JAX, before any array
FLOAT = 4  # bytes
OPTIMISER = 6  # copies of the weights: themselves, masked, their gradient, Adam's two, the mask
SAVED = 2  # of the values of a pass: those that the way back needs, and what it makes of them


@dataclass(frozen=True)
class Facts:
    problem: Problem
    pixels: int
    itemsize: int  # bytes of a stored pixel
    tile_bytes: float  # that the computation of a tile takes

    @classmethod
    def of(cls, params: Mapping[str, Any], data: Mapping[str, Any], tile_bytes: float) -> "Facts":
        """Of a cell's parameters and a dataset.json."""
        network = _size(json.dumps(params["model"]), json.dumps(data)) if "model" in params else Size(())
        problem = Problem(network, data["classes"], data["counts"])
        return cls(problem, math.prod(data["shape"]), data.get("itemsize", 1), tile_bytes)

    def memory(self, batch: float, copies: int = 1, weights: int = OPTIMISER) -> float:
        """Of a process that has decoded the data set, with some copies of the training points, at work on a batch."""
        counts, network = self.problem.counts, self.problem.size
        data = sum(counts.values()) * self.pixels * (FLOAT + self.itemsize)
        data += copies * counts["train"] * self.pixels * FLOAT
        return PROCESS + data + FLOAT * (weights * network.weights + SAVED * batch * network.values)


def stored_bytes(data: Mapping[str, Any]) -> float:
    """Of dataset.npz and split.npz."""
    pixel_bytes = math.prod(data["shape"]) * data.get("itemsize", 1)
    return sum(data["counts"].values()) * (pixel_bytes + FLOAT + 8)


@functools.cache
def _size(model: str, data: str) -> Size:
    described = Description.of(json.loads(data))
    return size(build(from_json(Model, json.loads(model)), described), described.shape)
