"""The cell that trains side by side stores a row an epoch, the same bytes however often it was stopped."""

import io

import pandas as pd
import pytest

from awt.cells.dynamics import dynamics
from awt.models.network import encode_mask, encode_weights


@pytest.fixture
def cell(model, build_network, dataset_npz, random_mask, training_section):
    network = build_network("mlp")
    params = {
        "model": model("mlp"),
        "threat": {"norm": "linf", "eps": 0.05, "eps_unit": "pixel", "clip": True},
        "training": training_section,
        "points": 10,
        "seed": 0,
    }
    files = {"initial": encode_weights(network.initialise(0)), "mask": encode_mask(random_mask(network, 0.4))}
    return params, {"dataset": dataset_npz} | files


def test_stores_a_row_at_the_start_and_after_each_epoch(cell, quiet):
    files = dynamics(*cell, quiet)
    assert list(files) == ["dynamics.csv"]
    assert pd.read_csv(io.BytesIO(files["dynamics.csv"]))["epoch"].tolist() == [0, 1, 2, 3]


def test_a_killed_cell_stores_the_same_bytes(cell, quiet, stopped_again_and_again):
    files, stops = stopped_again_and_again(lambda context: dynamics(*cell, context), 2)
    assert stops >= 1
    assert files == dynamics(*cell, quiet)
