"""The cell that finds a mask: every method by name, exact, by seed, and with an account of itself."""

import io

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awt import params
from awt.artifacts import decode_json
from awt.errors import InputError, WorkError
from awt.models.network import decode_mask, decode_weights, encode_mask
from awt.runtime.context import Context
from awt.tickets import find
from awt.tickets.cells import READS
from awt.tickets.find import CURVE, find_mask
from awt.tickets.masks import counts, select, total_kept
from awt.tickets.registry import METHODS
from awt.tickets.setting import Ticket


def test_every_method_that_params_know_is_there():
    assert set(METHODS) == set(params.METHODS) == set(READS)


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
        assert (about["density"], about["seed"], about["start"], about["trains_all"]) == (density, 0, "rewind", False)
        curve = pd.read_csv(io.BytesIO(files["curve.csv"]))
        assert list(curve.columns) == [*CURVE, *(f"kept {name}" for name in shapes)]
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


def test_keys_that_a_method_does_not_name_are_not_there_to_read(search_params, search_inputs, quiet):
    setting = find.make_setting(search_params("random"), search_inputs(), quiet)
    assert setting.search.scope == "global"
    with pytest.raises(AttributeError):
        _ = setting.search.gamma


SEARCHED = sorted(set(METHODS) - {"dense"})


def other_mask(build_network, density):
    """Of a method that others take after: the last layer whole, as far as it goes."""
    shapes = build_network("mlp").kernel_shapes
    scores = {name: jnp.full(shape, float(name == "dense3")) for name, shape in shapes.items()}
    return encode_mask(select(scores, jnp.asarray(counts(shapes, density, "global"))))


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(SEARCHED),
    st.sampled_from(["layer", "global", "erk"]),
    st.floats(0.03, 1.0),
    st.sampled_from([0.0, 0.6, 1.0]),
)
def test_every_method_keeps_exactly_what_is_asked_for(
    search_params, search_inputs, build_network, tmp_path_factory, method, scope, density, anneal
):
    context = Context(tmp_path_factory.mktemp("cell"), 1e9, lambda lines, progress: False)
    inputs = search_inputs() | {"other": other_mask(build_network, density)}
    params = search_params(method, density, scope=scope, epochs=2, anneal=anneal)
    mask = decode_mask(find_mask(params, inputs, context)["mask.npz"], "mask")
    kept = {name: int(layer.sum()) for name, layer in mask.items()}
    shapes = build_network("mlp").kernel_shapes
    assert sum(kept.values()) == total_kept(shapes, density)
    assert min(kept.values()) >= 1
    if scope != "global" and method not in ("shuffled", "random"):
        assert list(kept.values()) == counts(shapes, density, scope).tolist()


@pytest.mark.parametrize("method", ["awt", "concrete", "dns", "grasp", "shuffled", "synflow"])
def test_methods_follow_the_seed_on_a_cnn_too(method, search_params, search_inputs, build_network, quiet):
    shapes = build_network("cnn").kernel_shapes
    other = encode_mask({name: jnp.arange(np.prod(shape)).reshape(shape) % 3 == 0 for name, shape in shapes.items()})
    kept = sum(len(range(0, int(np.prod(shape)), 3)) for shape in shapes.values())
    density = kept / sum(int(np.prod(shape)) for shape in shapes.values())
    inputs = search_inputs(name="cnn") | {"other": other}
    params = search_params(method, density, name="cnn", epochs=2, scope="erk")
    one, same = (find_mask(params, inputs, quiet) for _ in range(2))
    assert one == same
    assert find_mask(params | {"seed": 1}, search_inputs(1, name="cnn") | {"other": other}, quiet) != one


@pytest.mark.parametrize("method", ["concrete", "dns", "imp", "iwi"])
def test_long_searches_killed_again_and_again_end_as_ones_left_alone(
    method, search_params, search_inputs, quiet, stopped_again_and_again
):
    params, inputs = search_params(method, epochs=3, anneal=0.75), search_inputs()
    undisturbed = find_mask(params, inputs, quiet)
    found, stops = stopped_again_and_again(lambda context: find_mask(params, inputs, context), 2)
    assert stops >= 2
    assert found == undisturbed
