"""CIFAR-10: 50,000 and 10,000 photographs of 32×32 in ten classes."""

from pathlib import Path

from awt.data import cifar
from awt.data.dataset import Raw
from awt.data.options import Data
from awt.data.published import Present, Source

ARCHIVE = cifar.Archive(
    Source("CIFAR-10", "cifar10", ("https://www.cs.toronto.edu/~kriz/",)),
    name="cifar-10-binary.tar.gz",
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    folder="cifar-10-batches-bin",
    train=tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    test="test_batch.bin",
    train_points=10_000,
    test_points=10_000,
    label_bytes=1,
    classes=10,
    pickles=("cifar-10-python.tar.gz", "cifar-10-batches-py"),
)


def read(data: Data, root: Path) -> Raw:
    return cifar.read(ARCHIVE, root)


def present(root: Path) -> Present:
    return cifar.present(ARCHIVE, root)
