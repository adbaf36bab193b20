"""A cell throws one attack at what is still standing, whatever the chunks, and says what broke each point."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.artifacts import decode_npz, encode_npz
from awt.attacks.outcome import NATURAL, STANDING
from awt.attacks.registry import resolved
from awt.cells.attack import attack
from awt.evaluation.scores import join
from awt.models.network import encode_weights


@pytest.fixture
def run_cell(model, build_network, random_weights, dataset_npz, quiet):
    """The cell's arrays for a range of test points, as bytes and decoded."""
    network = build_network("mlp")

    def run(points, name="pgd100", eps=0.1, weights=None, before=None, number=0):
        changes = {"square": {"queries": 20}}.get(name, {"steps": 4})
        reference, settings = resolved(name, changes)
        params = {
            "model": model("mlp"),
            "threat": {"norm": "linf", "eps": eps, "eps_unit": "pixel", "clip": True},
            "attack": reference,
            "settings": settings,
            "number": number,
            "points": list(points),
            "seed": 0,
        }
        weights = random_weights(network) if weights is None else weights
        inputs = {"dataset": dataset_npz, "model": encode_weights(weights)}
        inputs |= {} if before is None else {"before": before}
        data = attack(params, inputs, quiet)["points.npz"]
        return data, decode_npz(data, "points.npz")

    return run


def test_says_which_points_were_wrong_and_which_it_broke(run_cell, build_network, random_weights, dataset):
    _, points = run_cell((3, 15), eps=0.3)
    network = build_network("mlp")
    logits = jax.jit(network.apply)(random_weights(network), dataset.test_x[3:15])
    np.testing.assert_array_equal(points["point"], np.arange(3, 15))
    np.testing.assert_array_equal(points["label"], dataset.test_y[3:15])
    np.testing.assert_array_equal(points["by"] == NATURAL, logits.argmax(axis=-1) != dataset.test_y[3:15])
    assert (points["by"] == 0).any()
    assert (points["size"][points["by"] == 0] > 0).all()
    assert (points["size"] <= 0.3 + 1e-6).all()


def test_chunks_together_are_the_whole(run_cell):
    """Random starts too: each point has a key of its own."""
    chunks = [run_cell(points)[1] for points in ((0, 5), (5, 10), (10, 15))]
    whole = run_cell((0, 15))[1]
    for name, array in join(chunks).items():
        np.testing.assert_allclose(array, whole[name], atol=1e-5)


def test_attacks_in_turn_leave_what_was_broken(run_cell):
    """The outcome before says what stands: it is not judged again."""
    by = np.repeat(np.array([NATURAL, 0, STANDING], np.int8), 5)
    size = np.where(by == 0, 0.01, 0.0).astype(np.float32)
    _, then = run_cell((0, 15), "square", eps=0.3, before=encode_npz({"by": by, "size": size}), number=1)
    np.testing.assert_array_equal(then["by"][:10], by[:10])
    np.testing.assert_array_equal(then["size"][:10], size[:10])
    assert set(then["by"][10:]) <= {1, STANDING}
    assert (then["by"] == 1).any()


def test_without_room_nothing_breaks(run_cell):
    assert set(np.unique(run_cell((0, 15), eps=0.0)[1]["by"])) <= {STANDING, NATURAL}


def test_is_deterministic(run_cell):
    assert run_cell((0, 15))[0] == run_cell((0, 15))[0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_network_that_answers_nonsense_is_not_robust(run_cell, build_network, random_weights, value):
    weights = random_weights(build_network("mlp"))
    weights["dense3"]["bias"] = jnp.full(3, value)
    assert (run_cell((0, 15), weights=weights)[1]["by"] == NATURAL).all()
