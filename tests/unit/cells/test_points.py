"""The points of a Gram matrix: cut from the data set as they are, or moved by an attack on the network itself."""

import numpy as np
import optax
import pytest

from awt.artifacts import decode_npy, encode_npy
from awt.cells import points as points_cells
from awt.errors import InputError
from awt.models.network import apply_mask, encode_mask, encode_weights

EPS = 0.1


def cut(dataset_npz, part, count, quiet):
    files = points_cells.natural({"part": part, "count": count}, {"dataset": dataset_npz}, quiet)
    return decode_npy(files["x.npy"], "x.npy"), decode_npy(files["y.npy"], "y.npy")


@pytest.mark.parametrize(("part", "count"), [("train", 7), ("train", 48), ("validation", 12), ("test", 1)])
def test_the_first_points_of_a_part(dataset, dataset_npz, quiet, part, count):
    x, y = cut(dataset_npz, part, count, quiet)
    np.testing.assert_array_equal(x, getattr(dataset, f"{part}_x")[:count])
    np.testing.assert_array_equal(y, getattr(dataset, f"{part}_y")[:count])
    assert x.dtype == np.float32


@pytest.mark.parametrize("count", [0, 49])
def test_points_that_are_not_there(dataset_npz, quiet, count):
    with pytest.raises(InputError, match=rf"dataset\.npz: {count} train points asked for; it has 48"):
        cut(dataset_npz, "train", count, quiet)


@pytest.fixture
def attack(dataset, model, quiet):
    """Attacks points through the cell."""

    def run(x, y, weights, mask=None, eps=EPS):
        params = {
            "model": model("mlp"),
            "data": {"shape": [4, 4, 1], "classes": 3, "mean": dataset.mean.tolist(), "std": dataset.std.tolist()},
            "seed": 0,
            "threat": {"norm": "linf", "eps": eps, "eps_unit": "pixel", "clip": True},
            "attack": {"steps": 5, "step_size": None, "random_start": False},
        }
        inputs = {"x": encode_npy(x), "y": encode_npy(y), "weights": encode_weights(weights)}
        if mask is not None:
            inputs["mask"] = encode_mask(mask)
        return decode_npy(points_cells.adversarial(params, inputs, quiet)["x.npy"], "x.npy")

    return run


def test_attacked_points_raise_the_loss_of_their_own_network(
    dataset, build_network, random_weights, random_mask, attack
):
    network = build_network("mlp")
    weights, mask = random_weights(network), random_mask(network)
    x, y = dataset.train_x[:10], dataset.train_y[:10]
    dense, sparse = attack(x, y, weights), attack(x, y, weights, mask)

    def loss(weights, points):
        return float(optax.softmax_cross_entropy_with_integer_labels(network.apply(weights, points), y).mean())

    masked = apply_mask(weights, mask)
    for own, moved, other in ((weights, dense, sparse), (masked, sparse, dense)):
        assert np.abs(moved - x).max() <= EPS * (1 + 1e-6)
        assert loss(own, moved) > loss(own, other) > loss(own, x)


def test_pieces_of_an_attack_do_not_matter(dataset, build_network, random_weights, attack, monkeypatch):
    weights = random_weights(build_network("mlp"))
    x, y = dataset.train_x[:10], dataset.train_y[:10]
    whole = attack(x, y, weights)
    monkeypatch.setattr(points_cells, "ATTACKED_AT_ONCE", 4)
    np.testing.assert_allclose(attack(x, y, weights), whole, atol=1e-6)


def test_without_a_budget_points_stay(dataset, build_network, random_weights, attack):
    x, y = dataset.train_x[:3], dataset.train_y[:3]
    np.testing.assert_array_equal(attack(x, y, random_weights(build_network("mlp")), eps=0.0), x)
