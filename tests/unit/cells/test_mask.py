"""The cell that finds a mask: every method by name, exact, by seed, and with an account of itself."""

import io

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awt.artifacts import decode_json
from awt.cells.mask import CURVE, find_mask
from awt.errors import InputError, WorkError
from awt.loop import UNWATCHED
from awt.models.network import decode_mask, decode_weights, encode_mask
from awt.tickets.masks import counts, select, total_kept
from awt.tickets.method import Method
from awt.tickets.registry import METHODS
from awt.tickets.setting import Ticket


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
    with pytest.raises(InputError, match=r"tickets\.densities: 0\.001 keeps 0 weights"):
        find_mask(search_params("random", 0.001), search_inputs(), quiet)


def everything(setting):
    """A method of a user's, without options, that misses every density."""
    return Ticket(setting.network.everything())


def all_weights(setting, options):
    return Ticket(setting.network.everything(), trains_all=True)


def searched(setting, options):
    return Ticket(setting.network.everything(), start=setting.initial)


UNANNOUNCED = Method(all_weights)
STARTS_ANEW = Method(searched)


@pytest.fixture
def own_method(search_params, search_inputs):
    """Finds a mask with a function of this file, by its name."""

    def run(name, density):
        params = search_params("random", density) | {"method": f"{__name__}:{name}", "options": {}}
        return find_mask(params, search_inputs(), UNWATCHED)

    return run


def test_a_method_that_misses_its_density_is_refused(own_method):
    with pytest.raises(WorkError, match="mask keeps 141 weights instead of 42"):
        own_method("everything", 0.3)


@pytest.mark.parametrize("name", ["UNANNOUNCED", "STARTS_ANEW"])
def test_a_method_that_trains_otherwise_than_it_says_is_refused(own_method, name):
    with pytest.raises(WorkError, match="not what its Method says"):
        own_method(name, 1.0)


def test_a_plain_function_of_a_setting_is_a_method(own_method):
    assert all(kept.all() for kept in decode_mask(own_method("everything", 1.0)["mask.npz"], "mask").values())


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
    search_params, search_inputs, build_network, method, scope, density, anneal
):
    inputs = search_inputs() | {"other": other_mask(build_network, density)}
    params = search_params(method, density, scope=scope, epochs=2, anneal_share=anneal)
    mask = decode_mask(find_mask(params, inputs, UNWATCHED)["mask.npz"], "mask")
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
    params = search_params(method, density, network="cnn", epochs=2, scope="erk")
    one, same = (find_mask(params, inputs, quiet) for _ in range(2))
    assert one == same
    assert find_mask(params | {"seed": 1}, search_inputs(1, name="cnn") | {"other": other}, quiet) != one


@pytest.mark.parametrize("method", ["concrete", "dns", "imp", "iwi"])
def test_long_searches_killed_again_and_again_end_as_ones_left_alone(
    method, search_params, search_inputs, quiet, stopped_again_and_again
):
    params, inputs = search_params(method, epochs=3, anneal_share=0.75), search_inputs()
    undisturbed = find_mask(params, inputs, quiet)
    files, stops = stopped_again_and_again(lambda context: find_mask(params, inputs, context), 2)
    assert stops >= 2
    assert files == undisturbed


@pytest.mark.parametrize(
    ("reports", "schedule"), [(1, {"anneal_share": 0.75}), (2, {"rewind_rounds": 2}), (5, {"anneal_share": 0.75})]
)
def test_a_search_killed_again_and_again_ends_as_one_left_alone(
    reports, schedule, search_params, search_inputs, quiet, stopped_again_and_again
):
    params, inputs = search_params(mask_every=3, **schedule), search_inputs()
    undisturbed = find_mask(params, inputs, quiet)
    files, stops = stopped_again_and_again(lambda context: find_mask(params, inputs, context), reports)
    assert stops >= 2
    assert files == undisturbed


def test_searched_weights_are_the_student_s_under_its_mask(search_params, search_inputs, quiet):
    rewound = find_mask(search_params(), search_inputs(), quiet)
    searched = find_mask(search_params(start="searched"), search_inputs(), quiet)
    assert "start.npz" not in rewound
    assert searched["mask.npz"] == rewound["mask.npz"]
    weights, mask = decode_weights(searched["start.npz"], "start"), decode_mask(searched["mask.npz"], "mask")
    for name, layer in weights.items():
        assert not np.asarray(layer["kernel"])[~np.asarray(mask[name])].any()
        assert np.asarray(layer["kernel"]).any()


def test_the_cell_writes_a_row_an_epoch(search_params, search_inputs, quiet):
    files = find_mask(search_params(), search_inputs(), quiet)
    curve = pd.read_csv(io.BytesIO(files["curve.csv"]))
    assert curve["epoch"].tolist() == [0, 1, 2, 3, 4]
    assert curve.notna().all().all()
    assert sum(int(kept.sum()) for kept in decode_mask(files["mask.npz"], "mask").values()) == 42


def test_natural_points_are_points_under_a_threat_of_size_0(search_params, search_inputs, quiet):
    """ε = 0 in the threat, and `adversarial: false`, are the same search: NTT."""
    inputs = search_inputs(eps=0.0)
    one, same = (find_mask(search_params(eps=0.0, adversarial=flag), inputs, quiet) for flag in (True, False))
    assert one == same
