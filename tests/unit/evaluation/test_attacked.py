"""Evaluation predicts every point unperturbed and under each restart, whatever the chunks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.artifacts import decode_npz
from awt.errors import WorkError
from awt.evaluation.attacked import evaluate
from awt.evaluation.scores import join
from awt.models.network import encode_weights


@pytest.fixture
def run_cell(model, build_network, random_weights, dataset_npz, quiet):
    """The cell's arrays for a range of test points; keywords change the attack."""
    network = build_network("mlp")

    def run(points, eps=0.1, weights=None, **attack):
        params = {
            "model": model("mlp"),
            "threat": {"norm": "linf", "eps": eps, "eps_unit": "pixel", "clip": True},
            "attack": {"steps": 3, "step_size": None, "random_start": True, "restarts": 3} | attack,
            "points": list(points),
            "seed": 0,
        }
        weights = random_weights(network) if weights is None else weights
        inputs = {"dataset": dataset_npz, "model": encode_weights(weights)}
        return decode_npz(evaluate(params, inputs, quiet)["points.npz"], "points.npz")

    return run


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_predicts_each_point_naturally_and_under_each_restart(run_cell, build_network, random_weights, dataset):
    found = run_cell((3, 15))
    network = build_network("mlp")
    logits = jax.jit(network.apply)(random_weights(network), dataset.test_x[3:15])
    np.testing.assert_array_equal(found["point"], np.arange(3, 15))
    np.testing.assert_array_equal(found["label"], dataset.test_y[3:15])
    np.testing.assert_array_equal(found["natural"], logits.argmax(axis=-1))
    assert found["adversarial"].shape == (12, 3)
    assert all(array.dtype == np.int32 for array in found.values())


def test_an_attack_breaks_some_points(run_cell):
    found = run_cell((0, 15), eps=0.5)
    right = found["natural"] == found["label"]
    assert right.any()
    assert (found["adversarial"][right] != found["label"][right, None]).any()


def test_chunks_together_are_the_whole(run_cell):
    """Without random starts, which are drawn by chunk."""
    still = {"random_start": False, "restarts": 1}
    chunks = [run_cell(points, **still) for points in ((0, 5), (5, 10), (10, 15))]
    assert_same(join(chunks), run_cell((0, 15), **still))


def test_without_room_every_restart_predicts_as_naturally(run_cell):
    found = run_cell((0, 15), eps=0.0)
    np.testing.assert_array_equal(found["adversarial"], np.repeat(found["natural"][:, None], 3, axis=1))


def test_is_deterministic(run_cell):
    assert_same(run_cell((0, 15)), run_cell((0, 15)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_network_that_answers_nonsense_is_refused(run_cell, build_network, random_weights, value):
    weights = random_weights(build_network("mlp"))
    weights["dense3"]["bias"] = jnp.full(3, value)
    with pytest.raises(WorkError, match="not finite"):
        run_cell((0, 15), weights=weights)
