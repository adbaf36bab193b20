"""CIFAR-100: 50,000 and 10,000 photographs of 32×32 in a hundred (fine) classes."""

from pathlib import Path

from awt.data import cifar
from awt.data.dataset import Raw
from awt.data.options import Data
from awt.data.published import Present, Source

ARCHIVE = cifar.Archive(
    Source("CIFAR-100", "cifar100", ("https://www.cs.toronto.edu/~kriz/",)),
    name="cifar-100-binary.tar.gz",
    md5="03b5dce01913d631647c71ecec9e9cb8",
    folder="cifar-100-binary",
    train=("train.bin",),
    test="test.bin",
    train_points=50_000,
    test_points=10_000,
    label_bytes=2,  # the coarse class comes first
    classes=100,
    pickles=("cifar-100-python.tar.gz", "cifar-100-python"),
)


def read(data: Data, root: Path) -> Raw:
    return cifar.read(ARCHIVE, root)


def present(root: Path) -> Present:
    return cifar.present(ARCHIVE, root)
