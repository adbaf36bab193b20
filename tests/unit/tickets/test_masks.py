"""Masks keep exactly as many weights as asked for, the best of them, in every scope, and leave no layer empty."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from awt.errors import InputError
from awt.tickets.masks import counts, magnitudes, select, total_kept

SCOPES = ["layer", "global", "erk"]
DEEP = {f"dense{number}": (30 if number == 1 else 3, 3) for number in range(1, 12)}  # dense10 sorts before dense2

layers = st.one_of(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 8), st.integers(1, 8)),
)
shapes_of_networks = st.lists(layers, min_size=1, max_size=12).map(
    lambda shapes: {f"dense{number}": shape for number, shape in enumerate(shapes, start=1)}
)


def kept_by_layer(shapes, density, scope):
    found = counts(shapes, density, scope)
    return found if scope == "global" else dict(zip(sorted(shapes), found.tolist(), strict=True))


@settings(deadline=None, max_examples=200)
@given(shapes_of_networks, st.floats(0.001, 1), st.sampled_from(SCOPES))
@example(DEEP, 1.0, "erk")
@example({"dense1": (13, 28)}, 1.0, "erk")
@example({"a": (1, 1), "b": (40, 40)}, 0.003, "layer")
@example({"a": (100, 1), "b": (100, 1)}, 0.29, "layer")
def test_counts_are_exact_and_within_each_layer(shapes, density, scope):
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    total = math.floor(density * sum(sizes.values()) + 0.5)
    if total < len(shapes):
        with pytest.raises(InputError, match=r"tickets\.densities"):
            counts(shapes, density, scope)
        return
    assert total_kept(shapes, density) == total
    found = kept_by_layer(shapes, density, scope)
    if scope == "global":
        assert found.tolist() == [total]
        return
    assert sum(found.values()) == total
    for name, size in sizes.items():
        assert 1 <= found[name] <= size


@settings(deadline=None, max_examples=100)
@given(shapes_of_networks, st.floats(0.05, 1))
def test_layer_scope_gives_each_layer_its_share_within_one(shapes, density):
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    assume(all(density * size >= 1 for size in sizes.values()))
    for name, kept in kept_by_layer(shapes, density, "layer").items():
        assert abs(kept - density * sizes[name]) < 1 + 1e-9


def test_erdos_renyi_densities_go_with_the_sum_of_dimensions_over_their_product():
    shapes = {"a": (300, 784), "b": (100, 300), "c": (10, 100)}
    kept = kept_by_layer(shapes, 0.1, "erk")
    assert kept["c"] == 1000  # it would get more than it has
    assert kept["a"] / (300 + 784) == pytest.approx(kept["b"] / (100 + 300), rel=0.01)


def scores_of(shapes, seed=0, values=None):
    rng = np.random.default_rng(seed)
    draw = rng.random if values is None else lambda shape: rng.integers(0, values, shape)
    return {name: jnp.asarray(draw(shape), jnp.float32) for name, shape in shapes.items()}


def expected_mask(scores, kept, scope):
    """By sorting in Python: best first, the earlier of equals; over the network each layer's best comes first."""

    def best(items, number):
        return {place for _, place in sorted(items, key=lambda item: (-item[0], item[1]))[:number]}

    names = sorted(scores)
    flat = {name: np.asarray(scores[name]).ravel().tolist() for name in names}
    if scope != "global":
        return {name: best([(s, i) for i, s in enumerate(flat[name])], kept[name]) for name in names}
    items = []
    for number, name in enumerate(names):
        first = int(np.argmax(flat[name]))
        items += [(math.inf if i == first else s, (number, i)) for i, s in enumerate(flat[name])]
    chosen = best(items, int(kept[0]))
    return {name: {i for layer, i in chosen if layer == number} for number, name in enumerate(names)}


NETWORKS = {
    "two": {"dense1": (5, 4), "dense2": (4, 3)},
    "one": {"dense1": (6, 3)},
    "conv": {"conv1": (3, 3, 1, 4), "dense1": (4, 9)},
    "deep": DEEP,
}


@pytest.mark.parametrize("values", [None, 3], ids=["distinct", "ties"])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("shapes", NETWORKS.values(), ids=NETWORKS)
def test_the_mask_is_of_the_best_scores_and_of_equals_the_first(shapes, scope, values):
    for density in (0.2, 0.5, 1.0):
        scores = scores_of(shapes, values=values)
        mask = select(scores, jnp.asarray(counts(shapes, density, scope)))
        found = {name: set(np.flatnonzero(kept).tolist()) for name, kept in mask.items()}
        assert found == expected_mask(scores, kept_by_layer(shapes, density, scope), scope)
        assert {name: kept.shape for name, kept in mask.items()} == shapes


@settings(deadline=None, max_examples=50)
@given(st.floats(0.1, 1), st.sampled_from(SCOPES), st.integers(0, 100))
def test_totals_of_masks_are_exact_and_no_layer_is_empty(density, scope, seed):
    shapes = NETWORKS["conv"]
    scores = scores_of(shapes, seed)
    scores["conv1"] = scores["conv1"] * 1e-6  # would lose every weight to the other layer
    mask = select(scores, jnp.asarray(counts(shapes, density, scope)))
    sums = [int(kept.sum()) for kept in mask.values()]
    assert sum(sums) == total_kept(shapes, density)
    assert min(sums) >= 1


def test_other_densities_do_not_compile_again():
    shapes = NETWORKS["two"]
    select(scores_of(shapes), jnp.asarray(counts(shapes, 0.5, "erk")))
    before = select._cache_size()
    for density in (0.2, 0.3, 1.0):
        select(scores_of(shapes), jnp.asarray(counts(shapes, density, "layer")))
    assert select._cache_size() == before


def test_magnitudes_are_of_kernels_only(build_network, random_weights):
    network = build_network("mlp")
    weights = random_weights(network)
    found = magnitudes(weights)
    assert found.keys() == network.kernel_shapes.keys()
    for name, layer in weights.items():
        np.testing.assert_array_equal(found[name], np.abs(layer["kernel"]))
