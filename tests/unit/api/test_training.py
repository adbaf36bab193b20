"""Training through the API: the pipeline's weights bit for bit, any function like awt's own networks."""

import jax
import numpy as np
import pytest

import awt
from awt.artifacts import decode_npz
from awt.cells.retrain import retrain
from awt.errors import InputError
from awt.loop import UNWATCHED
from awt.models.network import encode_mask, encode_weights
from awt.options import as_json

THREAT = awt.Threat(eps=0.05)
OPTIONS = {"epochs": 2, "batch": 8, "learning_rate": 0.01, "attack": {"steps": 2}}


def test_weights_are_the_pipeline_s_bit_for_bit(mlp, dataset, dataset_npz, model, random_mask, training_section):
    mask, initial = random_mask(mlp), mlp.initialise(0)
    files = {"dataset": dataset_npz, "initial": encode_weights(initial), "mask": encode_mask(mask)}
    params = {"model": model("mlp"), "threat": as_json(THREAT), "training": training_section, "seed": 4}
    expected = decode_npz(retrain(params, files, UNWATCHED)["model.npz"], "model.npz")
    weights, rows = awt.train(mlp, initial, mask, dataset, THREAT, seed=4, **training_section)
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    for layer, parts in weights.items():
        for part, array in parts.items():
            np.testing.assert_array_equal(array, expected[f"{layer}/{part}"])


@pytest.mark.parametrize("foreign", ["flax", "equinox"], indirect=True)
def test_what_is_pruned_stays_zero(foreign, dataset, random_mask):
    network = awt.wrap(*foreign)
    mask = random_mask(network)
    weights, rows = awt.train(network, foreign.params, mask, dataset, THREAT, **OPTIONS)
    for name, kept in mask.items():
        kernel = np.asarray(weights[name]["kernel"])
        assert not kernel[~np.asarray(kept)].any()
        assert kernel[np.asarray(kept)].all()
    assert rows[-1]["loss"] < rows[0]["loss"]
    answers = foreign.apply(network.params(weights), dataset.test_x).argmax(axis=1)
    assert (answers == network.apply(weights, dataset.test_x).argmax(axis=1)).all()


def test_functions_train_as_networks_do(mlp, wrapped_mlp, dataset, random_mask):
    mask = random_mask(mlp)
    own, rows = awt.train(mlp, mlp.initialise(0), mask, dataset, THREAT, **OPTIONS)
    wrapped, same = awt.train(wrapped_mlp, wrapped_mlp.initialise(0), mask, dataset, THREAT, **OPTIONS)
    for row, expected in zip(same, rows, strict=True):
        np.testing.assert_allclose(list(row.values()), list(expected.values()), rtol=1e-4)
    for name, layer in own.items():
        np.testing.assert_allclose(wrapped[name]["kernel"], layer["kernel"], rtol=1e-3, atol=1e-5)


def test_points_labels_and_validation(mlp, dataset):
    whole = awt.train(mlp, mlp.initialise(0), None, dataset, THREAT, keep_epoch="best", **OPTIONS)
    data, validation = (dataset.train_x, dataset.train_y), (dataset.validation_x, dataset.validation_y)
    parts = awt.train(mlp, mlp.initialise(0), None, data, THREAT, validation=validation, keep_epoch="best", **OPTIONS)
    assert parts[1] == whole[1]
    assert all(map(np.array_equal, jax.tree.leaves(parts[0]), jax.tree.leaves(whole[0])))


def test_without_a_threat_points_stay_natural(mlp, dataset):
    one, same = (
        awt.train(mlp, mlp.initialise(0), None, dataset, threat, **OPTIONS)[1] for threat in (None, awt.Threat(eps=0.0))
    )
    assert one == same


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "train: epochs: input should be greater than or equal to 1"),
        ({"objective": "pdg"}, "train: objective: 'pdg' is no objective of awt, nor module:name; did you mean `pgd`"),
        ({"objective": "trades", "objective_options": {"weigth": 1}}, "train: objective_options: weigth: unknown key"),
        ({"keep_epoch": "best"}, r"train: keep_epoch: best goes by robust validation accuracy; pass validation"),
        ({"validation": (np.zeros((2, 3, 3, 1)), [0, 1])}, r"validation: the network takes no points of shape"),
        ({"batch": 64}, "train: batch: 64 is more than the 48 training points"),
        ({"mask": {}}, "mask: it misses the layer 'dense1'"),
        ({"initial": {}}, "initial: weights of another network: dense1/kernel is missing; the network has 16 x 6"),
    ],
)
def test_what_cannot_be_trained(mlp, dataset, change, message):
    asked = {"initial": mlp.initialise(0), "mask": None, "data": (dataset.train_x, dataset.train_y), **OPTIONS} | change
    with pytest.raises(InputError, match=f"^{message}"):
        awt.train(mlp, **asked)
