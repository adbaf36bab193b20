"""A network of dense layers, of any number and widths, with ReLUs between them."""

from collections.abc import Sequence

from awt.models.architecture import Architecture, Images
from awt.models.layers import Dense, Flatten, Init, Layer, Relu


def mlp(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    height, width, channels = shape
    return [Flatten(), *dense_layers(height * width * channels, widths, classes, init)]


def dense_layers(inputs: int, hidden: Sequence[int], classes: int, init: Init) -> list[Layer]:
    layers: list[Layer] = []
    for number, units in enumerate((*hidden, classes), start=1):
        layers += [Dense(f"dense{number}", inputs, units, init), Relu()]
        inputs = units
    return layers[:-1]


MLP = Architecture(mlp)
