"""The mixture of two Gaussians: what its closed forms say, in the units of pixels."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from awt.data import gaussian
from awt.data.prepare import prepare


@pytest.fixture
def read(data_of):
    def read(seed: int = 0, **changes: object) -> gaussian.Raw:
        return gaussian.read(data_of("gaussian", seed=seed, gaussian=changes), Path("unused"))

    return read


def test_is_decided_by_the_seed(read, data_of):
    first = read()
    assert np.array_equal(read().train_x, first.train_x)
    assert not np.array_equal(read(seed=1).train_x, first.train_x)
    assert prepare(data_of("gaussian"), Path("a")) == prepare(data_of("gaussian"), Path("b"))


def test_points_are_pixels_of_one_row(read):
    raw = read()
    assert raw.train_x.shape == (5000, 1, 100, 1)
    assert raw.train_x.dtype == np.float32
    assert np.bincount(raw.train_y).tolist() == [2500, 2500]
    assert (raw.scale, raw.classes, raw.test_x) == (1.0, 2, None)
    assert raw.train_x.min() > 0
    assert raw.train_x.max() < 1


@pytest.mark.parametrize(("distance", "deviation"), [(3.0, 1.0), (1.0, 2.0)])
def test_moments(read, distance, deviation):
    raw = read(points=20000, dimension=5, distance=distance, deviation=deviation)
    unit = 2 * (distance + 7 * deviation)
    points = (raw.train_x[:, 0, :, 0].astype(np.float64) - 0.5) * unit
    for label, sign in enumerate((-1, 1)):
        own = points[raw.train_y == label]
        assert own.mean(axis=0) == pytest.approx([sign * distance, 0, 0, 0, 0], abs=0.05 * deviation)
        assert np.cov(own.T) == pytest.approx(deviation**2 * np.eye(5), abs=0.05 * deviation**2)


def test_the_best_classifier_is_as_robust_as_its_closed_form_says(read):
    """A perturbation of size 2 is one of 0.1 here; it moves a point straight towards the other class."""
    raw = read(points=20000, dimension=10)
    side = np.where(raw.train_y == 1, 1, -1)
    margin = side * (raw.train_x[:, 0, 0, 0] - 0.5)
    assert np.mean(margin > 0) == pytest.approx(norm.cdf(3), abs=0.002)
    assert np.mean(margin > 2 / 20) == pytest.approx(norm.cdf(1), abs=0.01)
