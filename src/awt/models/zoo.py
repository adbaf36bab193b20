"""The networks by name."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from awt.models.layers import Conv, Dense, Flatten, Init, Layer, MaxPool, Normalise, Relu
from awt.models.network import Network
from awt.params import Model

Images = tuple[int, int, int]  # height, width, channels


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
    make = {"mlp": mlp, "cnn": cnn, "lenet": lenet, "vgg16": vgg16}[model.name]
    return Network((normalise, *make(shape, model.widths, classes, model.init)))


def mlp(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    height, width, channels = shape
    return [Flatten(), *_dense(height * width * channels, widths, classes, init)]


def cnn(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    """The paper's: two convolutions with max-pooling, two dense layers."""
    first, second, *hidden = widths
    return _convolutional(shape, ((first,), (second,)), 3, hidden, classes, init)


def lenet(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    """After LeNet-5: convolutions of 5 × 5, padded, with max-pooling, and ReLUs throughout."""
    first, second, *hidden = widths
    return _convolutional(shape, ((first,), (second,)), 5, hidden, classes, init)


def vgg16(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    """For small images: thirteen convolutions of 3 × 3 in five stages, each pooled, and one dense layer.

    Nothing is normalised between its layers. A normalisation over the batch would make an image's outputs depend on the
    others, so that there is no tangent kernel of two points; one over channels would let units count that a mask cuts
    off; both would have weights that no mask covers. He's initialisation keeps the scale through all of its layers, and
    adversarial training begins where ε rises from 0 (`retrain.warmup`).
    """
    stages = [(width,) * depth for width, depth in zip(widths, (2, 2, 3, 3, 3), strict=True)]
    return _convolutional(shape, stages, 3, (), classes, init)


def _convolutional(
    shape: Images, stages: Sequence[Sequence[int]], size: int, hidden: Sequence[int], classes: int, init: Init
) -> list[Layer]:
    """Stages of convolutions, each stage max-pooled, then dense layers."""
    height, width, channels = shape
    layers: list[Layer] = []
    for stage in stages:
        for units in stage:
            number = 1 + sum(isinstance(layer, Conv) for layer in layers)
            layers += [Conv(f"conv{number}", channels, units, size, init), Relu()]
            channels = units
        layers.append(MaxPool())
        height, width = height // 2, width // 2
    return [*layers, Flatten(), *_dense(height * width * channels, hidden, classes, init)]


def _dense(inputs: int, hidden: Sequence[int], classes: int, init: Init) -> list[Layer]:
    layers: list[Layer] = []
    for number, units in enumerate((*hidden, classes), start=1):
        layers += [Dense(f"dense{number}", inputs, units, init), Relu()]
        inputs = units
    return layers[:-1]
