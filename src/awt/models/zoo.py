"""The networks by name."""

from typing import Protocol

import numpy as np

from awt.models.layers import Conv, Dense, Flatten, Init, Layer, MaxPool, Normalise, Relu
from awt.models.network import Network
from awt.params import Model


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
    """The network of the parameters, for the shape and classes of the data, which it normalises itself."""
    # a channel that never varies has std 0 and carries nothing: dividing it by 1 is as good
    normalise = Normalise(tuple(map(float, data.mean)), tuple(float(value) or 1.0 for value in data.std))
    shape, classes = data.shape, data.classes
    if model.name == "mlp":
        return Network((normalise, *mlp(shape, model.widths, classes, model.init)))
    return Network((normalise, *cnn(shape, model.widths, classes, model.init)))


def mlp(shape: tuple[int, int, int], widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    height, width, channels = shape
    layers: list[Layer] = [Flatten()]
    inputs = height * width * channels
    for number, units in enumerate((*widths, classes), start=1):
        layers += [Dense(f"dense{number}", inputs, units, init), Relu()]
        inputs = units
    return layers[:-1]


def cnn(shape: tuple[int, int, int], widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    """The paper's: two convolutions with max-pooling, two dense layers."""
    height, width, channels = shape
    first, second, hidden = widths
    flat = (height // 4) * (width // 4) * second
    return [
        Conv("conv1", channels, first, 3, init),
        Relu(),
        MaxPool(),
        Conv("conv2", first, second, 3, init),
        Relu(),
        MaxPool(),
        Flatten(),
        Dense("dense1", flat, hidden, init),
        Relu(),
        Dense("dense2", hidden, classes, init),
    ]
