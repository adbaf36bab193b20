"""The retraining cell stores the trained model and a row of figures an epoch, the same bytes however often it ran."""

import io

import numpy as np
import pandas as pd
import pytest

from awt.cells.retrain import CURVE, retrain
from awt.models.network import decode_weights, encode_mask, encode_weights


@pytest.fixture
def cell(model, build_network, random_weights, random_mask, dataset_npz, training_section):
    network = build_network("mlp")
    threat = {"norm": "linf", "eps": 0.05, "eps_unit": "pixel", "clip": True}
    params = {"model": model("mlp"), "threat": threat, "training": training_section, "seed": 0}
    files = {"initial": encode_weights(random_weights(network)), "mask": encode_mask(random_mask(network))}
    return params, {"dataset": dataset_npz} | files


def test_stores_a_masked_model_and_its_curve(cell, build_network, random_mask, quiet):
    files = retrain(*cell, quiet)
    mask, weights = random_mask(build_network("mlp")), decode_weights(files["model.npz"], "model.npz")
    assert all(not np.asarray(layer["kernel"])[~np.asarray(mask[name])].any() for name, layer in weights.items())
    curve = pd.read_csv(io.BytesIO(files["curve.csv"]))
    assert list(curve.columns) == CURVE
    assert curve["epoch"].tolist() == [1, 2, 3]


def test_a_killed_cell_stores_the_same_bytes(cell, quiet, stopped_again_and_again):
    files, stops = stopped_again_and_again(lambda context: retrain(*cell, context), 3)
    assert stops >= 1
    assert files == retrain(*cell, quiet)
