"""The paper's convolutional network: two convolutions of 3 × 3 with max-pooling, two dense layers."""

from awt.models.architecture import Architecture, Images
from awt.models.convolutional import convolutional
from awt.models.layers import Init, Layer


def cnn(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    first, second, *hidden = widths
    return convolutional(shape, ((first,), (second,)), 3, hidden, classes, init)


CNN = Architecture(cnn, (32, 64, 1024), "two convolutions, one dense layer", halvings=2)
