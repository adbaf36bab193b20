"""Fashion-MNIST: clothes in the form of MNIST, 60,000 and 10,000 of 28×28."""

from pathlib import Path

from awt.data import idx
from awt.data.dataset import Raw
from awt.data.options import Data
from awt.data.published import Present, Source

MIRRORS = (
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
)
# its authors give digests of the gzipped files only
FILES = idx.Files(
    Source("Fashion-MNIST", "fashion_mnist", MIRRORS),
    {
        "train-images-idx3-ubyte": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte": "25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte": "bb300cfdad3c16e7a12a480ee83cd310",
    },
    compressed=True,
)


def read(data: Data, root: Path) -> Raw:
    return idx.read(FILES, root)


def present(root: Path) -> Present:
    return idx.present(FILES, root)
