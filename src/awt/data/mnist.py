"""MNIST: handwritten digits, 60,000 and 10,000 of 28×28."""

from pathlib import Path

from awt.data import idx
from awt.data.dataset import Raw
from awt.data.options import Data
from awt.data.published import Present, Source

MIRRORS = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
)
FILES = idx.Files(
    Source("MNIST", "mnist", MIRRORS),
    {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
    in_root=True,
)


def read(data: Data, root: Path) -> Raw:
    return idx.read(FILES, root)


def present(root: Path) -> Present:
    return idx.present(FILES, root)
