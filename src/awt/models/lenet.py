"""After LeNet-5: convolutions of 5 × 5, padded, with max-pooling, and ReLUs throughout."""

from awt.models.architecture import Architecture, Images
from awt.models.convolutional import convolutional
from awt.models.layers import Init, Layer


def lenet(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    first, second, *hidden = widths
    return convolutional(shape, ((first,), (second,)), 5, hidden, classes, init)


LENET = Architecture(lenet, (6, 16, 120, 84), "two convolutions, two dense layers", halvings=2)
