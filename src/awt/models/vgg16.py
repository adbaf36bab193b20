"""VGG-16 for small images: thirteen convolutions of 3 × 3 in five stages, each pooled, and one dense layer.

Nothing is normalised between its layers. A normalisation over the batch would make an image's outputs depend on the
others, so that there is no tangent kernel of two points; one over channels would let units count that a mask cuts off;
both would have weights that no mask covers. He's initialisation keeps the scale through all of its layers, and
adversarial training begins where ε rises from 0 (`retrain.warmup_share`).
"""

from awt.models.architecture import Architecture, Images
from awt.models.convolutional import convolutional
from awt.models.layers import Init, Layer


def vgg16(shape: Images, widths: tuple[int, ...], classes: int, init: Init) -> list[Layer]:
    stages = [(width,) * depth for width, depth in zip(widths, (2, 2, 3, 3, 3), strict=True)]
    return convolutional(shape, stages, 3, (), classes, init)


VGG16 = Architecture(vgg16, (64, 128, 256, 512, 512), "the convolutions of each of its five stages", halvings=5)
