"""scikit-learn's embedded digits: 1797 images of 8×8, offline, without a test set of their own."""

from pathlib import Path

import numpy as np

from awt.artifacts import sha256
from awt.data.checks import labels
from awt.data.dataset import Raw
from awt.data.options import Data

SOURCE = "sklearn.datasets.load_digits"


def read(data: Data, root: Path) -> Raw:
    from sklearn.datasets import load_digits  # here, since it takes a second that no other data set needs

    found = load_digits()
    x = found.images.astype(np.uint8)[..., np.newaxis]  # whole numbers 0..16
    y = labels(found.target, len(x), None, SOURCE)
    digest = sha256(x.tobytes() + y.astype("<i4").tobytes())
    return Raw(x, y, None, None, scale=16.0, classes=int(y.max()) + 1, sources={SOURCE: digest})
