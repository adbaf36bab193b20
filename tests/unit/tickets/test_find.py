"""The cell that finds a mask: every method by name, exact, by seed, and with an account of itself."""

import io
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from awt import params
from awt.artifacts import decode_json
from awt.errors import InputError, WorkError
from awt.models.network import decode_mask, decode_weights
from awt.tickets import find
from awt.tickets.find import CURVE, find_mask
from awt.tickets.masks import total_kept
from awt.tickets.registry import METHODS
from awt.tickets.setting import Ticket


def test_every_method_that_params_know_is_there():
    assert set(METHODS) == set(get_args(params.Method))


@pytest.mark.parametrize("scope", ["layer", "global", "erk"])
@pytest.mark.parametrize("method", ["random", "magnitude"])
def test_masks_have_their_density_and_say_so(method, scope, search_params, search_inputs, build_network, quiet):
    shapes = build_network("mlp").kernel_shapes
    for density in (0.05, 0.3):
        files = find_mask(search_params(method, density, scope=scope), search_inputs(), quiet)
        mask, about = decode_mask(files["mask.npz"], "mask"), decode_json(files["mask.json"], "about")
        assert {name: kept.shape for name, kept in mask.items()} == shapes
        by_layer = {name: int(kept.sum()) for name, kept in mask.items()}
        assert sum(by_layer.values()) == about["kept"] == total_kept(shapes, density)
        assert {name: layer["kept"] for name, layer in about["layers"].items()} == by_layer
        assert (about["method"], about["density"], about["seed"]) == (method, density, 0)
        curve = pd.read_csv(io.BytesIO(files["curve.csv"]))
        assert list(curve.columns) == CURVE
        assert curve.empty


def test_dense_keeps_everything(search_params, search_inputs, quiet):
    files = find_mask(search_params("dense", 1.0), search_inputs(), quiet)
    assert all(kept.all() for kept in decode_mask(files["mask.npz"], "mask").values())


def test_random_masks_follow_the_seed(search_params, search_inputs, quiet):
    one, same, other = (
        find_mask(search_params("random", 0.3, seed), search_inputs(), quiet)["mask.npz"] for seed in (0, 0, 1)
    )
    assert one == same
    assert one != other


def test_magnitude_keeps_the_largest_initial_weights(search_params, search_inputs, quiet):
    files = find_mask(search_params("magnitude", 0.3, scope="layer"), search_inputs(), quiet)
    mask = decode_mask(files["mask.npz"], "mask")
    for name, layer in decode_weights(search_inputs()["initial"], "initial").items():
        size, kept = np.abs(np.asarray(layer["kernel"])), np.asarray(mask[name])
        assert size[kept].min() >= size[~kept].max()


def test_a_density_that_keeps_too_little_is_the_user_s_mistake(search_params, search_inputs, quiet):
    with pytest.raises(InputError, match=r"search\.densities: 0\.001 keeps 0 weights"):
        find_mask(search_params("random", 0.001), search_inputs(), quiet)


def test_a_method_that_misses_its_density_is_refused(search_params, search_inputs, quiet, monkeypatch):
    full = METHODS["dense"]
    monkeypatch.setitem(find.METHODS, "random", lambda setting: Ticket(full(setting).mask))
    with pytest.raises(WorkError, match="mask keeps 141 weights instead of 42"):
        find_mask(search_params("random", 0.3), search_inputs(), quiet)
