"""Stages of convolutions, each stage max-pooled, then dense layers: what the convolutional networks share."""

from collections.abc import Sequence

from awt.models.architecture import Images
from awt.models.layers import Conv, Flatten, Init, Layer, MaxPool, Relu
from awt.models.mlp import dense_layers


def convolutional(
    shape: Images, stages: Sequence[Sequence[int]], size: int, hidden: Sequence[int], classes: int, init: Init
) -> list[Layer]:
    """Convolutions of these widths by stage and of one kernel size, and hidden dense layers of these widths."""
    height, width, channels = shape
    layers: list[Layer] = []
    for stage in stages:
        for units in stage:
            number = 1 + sum(isinstance(layer, Conv) for layer in layers)
            layers += [Conv(f"conv{number}", channels, units, size, init), Relu()]
            channels = units
        layers.append(MaxPool())
        height, width = height // 2, width // 2
    return [*layers, Flatten(), *dense_layers(height * width * channels, hidden, classes, init)]
