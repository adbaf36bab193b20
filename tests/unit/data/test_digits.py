"""scikit-learn's digits as a data set."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from awt.data import digits
from awt.data.options import Data

DATA = Data(name="digits")


def test_holds_scikit_learns_values():
    raw = digits.read(DATA, Path("unused"))
    assert raw.train_x.shape == (1797, 8, 8, 1)
    assert raw.train_x.dtype == np.uint8
    assert np.array_equal(raw.train_x[..., 0], load_digits().images)
    assert np.array_equal(raw.train_y, load_digits().target)
    assert (raw.train_x.max(), raw.scale, raw.classes) == (16, 16.0, 10)
    assert raw.test_x is None
    assert raw.sources == digits.read(DATA, Path("unused")).sources
