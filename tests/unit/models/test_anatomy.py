"""Dead units as brute force finds them, by changing inputs and units; overlaps as counted by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awt.artifacts import Arrays
from awt.errors import InputError
from awt.models.anatomy import Overlap, layers_of, overlaps, square, units, used_inputs, weights_by_place, whole

SIDE = 8  # of the pictures that convolutions see: two poolings leave 2 × 2


def convolve(kept: np.ndarray, x: np.ndarray) -> np.ndarray:
    height, width = x.shape[:2]
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    shifts = [padded[i : i + height, j : j + width] @ kept[i, j] for i in range(3) for j in range(3)]
    return np.sum(shifts, axis=0)


def pool(x: np.ndarray) -> np.ndarray:
    height, width, channels = x.shape
    return x.reshape(height // 2, 2, width // 2, 2, channels).sum(axis=(1, 3))


def run(layers: Arrays, x: np.ndarray, raised: tuple[str, int] | None = None) -> Arrays:
    """Each layer's values, all weights 1 and so nothing cancelled; one unit is raised at all its positions."""
    found = {}
    for name, kept in layers.items():
        weights = kept.astype(float)
        x = convolve(weights, x) if kept.ndim == 4 else x.reshape(-1) @ weights
        if raised is not None and raised[0] == name:
            x[..., raised[1]] += 1
        found[name] = x
        x = pool(x) if kept.ndim == 4 else x
    return found


def check(layers: Arrays, shape: tuple[int, ...]) -> None:
    last, nothing, everything = list(layers)[-1], np.zeros(shape), run(layers, np.ones(shape))
    found = units(layers)
    assert list(found) == list(layers)
    for name, unit in found.items():
        fed = everything[name].reshape(-1, len(unit.fed)).any(axis=0)
        heard = [run(layers, nothing, (name, one))[last].any() for one in range(len(unit.fed))]
        np.testing.assert_array_equal(unit.fed, fed)
        np.testing.assert_array_equal(unit.heard, heard)
        np.testing.assert_array_equal(unit.alive, np.logical_and(fed, heard))
    used = []
    for channel in range(shape[-1]):
        x = np.zeros(shape)
        x[..., channel] = 1
        used.append(run(layers, x)[last].any())
    np.testing.assert_array_equal(used_inputs(layers), used)


def random_mask(shapes: dict[str, tuple[int, ...]], density: float, seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    return {name: rng.random(shape) < density for name, shape in shapes.items()}


@given(st.lists(st.integers(1, 7), min_size=2, max_size=5), st.floats(0, 0.7), st.integers(0, 2**32 - 1))
def test_units_of_an_mlp(widths, density, seed):
    shapes = {f"dense{number}": pair for number, pair in enumerate(pairwise(widths), start=1)}
    check(random_mask(shapes, density, seed), (widths[0],))


@given(st.lists(st.integers(1, 4), min_size=5, max_size=5), st.floats(0, 0.3), st.integers(0, 2**32 - 1))
def test_units_of_a_cnn(widths, density, seed):
    channels, first, second, hidden, classes = widths
    shapes = {
        "conv1": (3, 3, channels, first),
        "conv2": (3, 3, first, second),
        "dense1": ((SIDE // 4) ** 2 * second, hidden),
        "dense2": (hidden, classes),
    }
    check(random_mask(shapes, density, seed), (SIDE, SIDE, channels))


def test_a_dead_unit_deadens_what_only_it_joins():
    layers = {
        "dense1": np.array([[1, 0, 0], [0, 1, 0]], bool),  # the third unit gets nothing
        "dense2": np.array([[1, 0], [0, 0], [0, 1]], bool),  # the second leads nowhere
        "dense3": np.array([[1, 0], [0, 1]], bool),
    }
    found = units(layers)
    assert [unit.fed.tolist() for unit in found.values()] == [[True, True, False], [True, False], [True, False]]
    assert [unit.heard.tolist() for unit in found.values()] == [[True, False, True], [True, True], [True, True]]
    assert used_inputs(layers).tolist() == [True, False]


def test_overlaps_by_hand():
    first = {"dense1": np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool), "dense2": np.array([[1], [0], [0], [0]], bool)}
    second = {"dense1": np.array([[1, 0, 1, 0], [1, 0, 0, 1]], bool), "dense2": np.array([[0], [1], [1], [0]], bool)}
    found = overlaps(first, second)
    assert found == {"dense1": Overlap(3, 4, 2, 3 * 4 / 8), "dense2": Overlap(1, 2, 0, 1 * 2 / 4)}
    assert found["dense1"].jaccard == 2 / 5
    assert found["dense2"].jaccard == 0
    assert whole(found) == Overlap(4, 6, 2, 2.0)
    assert whole(found).jaccard == 2 / 8
    assert Overlap(0, 0, 0, 0.0).jaccard is None
    assert overlaps(first, first)["dense1"].jaccard == 1


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_the_overlap_by_chance_is_the_mean_over_places(size, one, other, seed):
    """Of all the cyclic shifts of a mask: each of its weights comes to each place once."""
    rng = np.random.default_rng(seed)
    first, second = (rng.permutation(size)[:, None] < count for count in (one, other))
    shifted = [overlaps({"dense1": first}, {"dense1": np.roll(second, shift)})["dense1"] for shift in range(size)]
    assert np.mean([found.both for found in shifted]) == pytest.approx(shifted[0].by_chance)


def test_layers_come_in_the_network_s_order():
    shapes = {"dense10": (2, 3), "dense2": (6, 2), "dense1": (8, 6), "conv2": (3, 3, 5, 4), "conv1": (3, 3, 1, 5)}
    assert list(layers_of(random_mask(shapes, 0.5, 0), "m")) == ["conv1", "conv2", "dense1", "dense2", "dense10"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "it has no arrays"),
        ({"dense1": np.ones((2, 2))}, "dense1 is float64, not boolean"),
        ({"dense1": b"text"}, "dense1 is no array"),
        ({"layer": np.ones((2, 2), bool)}, "'layer' is no layer"),
        ({"dense1": np.ones(2, bool)}, r"dense1 has the shape \[2\], which is not \[in, out\]"),
        ({"conv1": np.ones((3, 3), bool)}, r"conv1 has the shape \[3, 3\], which is not \[height, width, in, out\]"),
        ({"dense1": np.ones((0, 2), bool)}, r"dense1 has the shape \[0, 2\]"),
        ({"dense1": np.ones((2, 2), bool), "dense2": np.ones((4, 2), bool)}, "dense2 has 4 inputs.* dense1's 2 units"),
        ({"conv1": np.ones((3, 3, 1, 2), bool), "conv2": np.ones((3, 3, 4, 2), bool)}, "conv2 has 4 inputs"),
        ({"conv1": np.ones((3, 3, 1, 2), bool), "dense1": np.ones((5, 2), bool)}, "dense1 has 5 inputs"),
    ],
)
def test_what_is_no_mask(arrays, message):
    with pytest.raises(InputError, match=f"^m: no mask: {message}"):
        layers_of(arrays, "m")


def test_weights_by_place():
    first = np.zeros((12, 5), bool)
    first[7, :3] = True  # row 1, column 0, channel 1 of 2 × 3 pixels of 2 channels
    counts = weights_by_place(first, (2, 3, 2))
    assert counts.shape == (2, 3, 2)
    assert counts[1, 0, 1] == counts.sum() == 3
    kernel = np.ones((3, 3, 2, 4), bool)
    assert (weights_by_place(kernel, (1, 2, 1)) == np.full((3, 3, 2), 4)).all()


@pytest.mark.parametrize(("inputs", "shape"), [(64, (8, 8, 1)), (3072, (32, 32, 3)), (7, (1, 7, 1)), (1, (1, 1, 1))])
def test_an_unknown_picture_is_square_where_it_can_be(inputs, shape):
    assert square(inputs) == shape
