"""Which network: its architecture by name, its widths, its initialisation; built for the data that it will see."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from annotated_types import Ge

from awt.loading import load
from awt.models.layers import Init, Layer, Normalise
from awt.models.network import Network
from awt.options import options

Images = tuple[int, int, int]  # height, width, channels
Layers = Callable[[Images, tuple[int, ...], int, Init], list[Layer]]
"""Of images, widths, a number of classes and an initialisation, the layers of a network."""


@dataclass(frozen=True)
class Architecture:
    """How to build a network, and what it asks for: its published widths, what they are of, how often images halve."""

    layers: Layers
    widths: tuple[int, ...] | None = None
    widths_of: str = "hidden layers"
    halvings: int = 0


@options
class Model:
    name: str = "mlp"
    widths: tuple[Annotated[int, Ge(1)], ...]
    init: Init = "glorot"


class Described(Protocol):
    """What a network must know of its data."""

    @property
    def shape(self) -> tuple[int, int, int]: ...
    @property
    def classes(self) -> int: ...
    @property
    def mean(self) -> np.ndarray: ...
    @property
    def std(self) -> np.ndarray: ...


def build(model: Model, data: Described) -> Network:
    """The network of the options, for the shape and classes of the data, which it normalises itself."""
    # a channel that never varies has std 0 and carries nothing: dividing it by 1 is as good
    normalise = Normalise(tuple(map(float, data.mean)), tuple(float(value) or 1.0 for value in data.std))
    layers = architecture(model.name).layers(data.shape, model.widths, data.classes, model.init)
    return Network((normalise, *layers))


def architecture(name: str) -> Architecture:
    """What `module:name` names; a plain function builds the layers."""
    found = load(name)
    return found if isinstance(found, Architecture) else Architecture(found)
