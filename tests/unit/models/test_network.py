"""Networks are pure functions of weights; masks zero exactly; what is stored comes back."""

import json
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.data.dataset import Description, described
from awt.errors import InputError
from awt.models.architecture import Model, build
from awt.models.layers import MaxPool, Normalise
from awt.models.network import Network, apply_mask, decode_mask, decode_weights, encode_mask, encode_weights
from awt.models.registry import NETWORKS


@dataclass
class Described:
    shape: tuple[int, int, int]
    classes: int
    mean: np.ndarray
    std: np.ndarray


def made(name, widths, data, init="he"):
    """A network by its short name."""
    return build(Model(name=NETWORKS[name], widths=tuple(widths), init=init), data)


def assert_identical(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_normalisation_is_inside(network, dataset, random_weights):
    weights, x = random_weights(network), jnp.asarray(dataset.train_x[:5])
    first, *rest = network.layers
    assert isinstance(first, Normalise)
    standardised = (dataset.train_x[:5] - dataset.mean) / dataset.std
    expected = jax.jit(Network(tuple(rest)).apply)(weights, standardised)
    np.testing.assert_allclose(jax.jit(network.apply)(weights, x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 7, 2), (9, 6, 3)])
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_shapes_of_any_size_give_logits_by_class(name, shape, uniform_points, random_weights):
    data = Described(shape, 4, np.full(shape[2], 0.5), np.full(shape[2], 0.3))
    network = made(name, [3, 2, 5], data)
    logits = jax.jit(network.apply)(random_weights(network), uniform_points(2, shape=shape))
    assert logits.shape == (2, 4)
    assert np.isfinite(logits).all()


@pytest.mark.parametrize(
    ("name", "widths", "shape", "layers", "weights"),
    [
        ("cnn", [32, 64, 1024], (28, 28, 1), 4, 288 + 18_432 + 3_211_264 + 10_240),
        ("lenet", [6, 16, 120, 84], (28, 28, 1), 5, 150 + 2_400 + 94_080 + 10_080 + 840),
        ("vgg16", [64, 128, 256, 512, 512], (32, 32, 3), 14, 14_710_464 + 5_120),
    ],
)
def test_published_networks_have_their_layers_and_weights(name, widths, shape, layers, weights):
    data = Described(shape, 10, np.full(shape[2], 0.5), np.full(shape[2], 0.3))
    network = made(name, widths, data)
    assert len(network.weighted) == layers
    assert sum(math.prod(shape) for shape in network.kernel_shapes.values()) == weights


def test_the_scale_passes_through_sixteen_layers(uniform_points):
    """He's initialisation: logits neither vanish nor explode, and differ from image to image."""
    data = Described((32, 32, 3), 10, np.full(3, 0.5), np.full(3, 0.3))
    network = made("vgg16", [16, 16, 32, 32, 32], data)
    logits = jax.jit(network.apply)(network.initialise(0), uniform_points(8, shape=(32, 32, 3)))
    assert 0.1 < float(logits.std()) < 10
    assert float(logits.std(axis=0).mean()) > 0.01


def test_a_description_is_what_the_network_knows_of_the_data(dataset, build_network):
    stated = {"mean": dataset.mean.tolist(), "std": dataset.std.tolist(), "shape": [4, 4, 1], "classes": 3, "seed": 0}
    kept = described(json.loads(json.dumps(stated)))
    assert "seed" not in kept
    assert made("mlp", [6, 5], Description.of(kept), "glorot") == build_network("mlp")


def test_a_channel_that_never_varies_gives_finite_logits(uniform_points, random_weights):
    data = Described((4, 4, 2), 3, np.array([0.5, 0.0]), np.array([0.3, 0.0]))
    network = made("mlp", [6], data)
    assert np.isfinite(network.apply(random_weights(network), uniform_points(2, shape=(4, 4, 2)))).all()


def test_pooling_an_odd_size_ignores_the_last_row_and_column(uniform_points):
    x = uniform_points(2, shape=(5, 7, 3))
    pooled = MaxPool()(x)
    assert pooled.shape == (2, 2, 3, 3)
    np.testing.assert_array_equal(pooled, MaxPool()(x.at[:, 4].set(9.0).at[:, :, 6].set(9.0)))


def test_initial_weights_follow_the_seed_and_differ_by_layer(build_network):
    network = build_network("mlp")
    one, other = network.initialise(3), network.initialise(4)
    jax.clear_caches()
    assert_identical(network.initialise(3), one)
    kernels = [np.asarray(layer["kernel"]).ravel() for weights in (one, other) for layer in weights.values()]
    firsts = [kernel[0] / np.abs(kernel).max() for kernel in kernels]
    assert len(set(firsts)) == len(firsts)


def test_a_layer_keeps_its_initial_weights_when_others_change(dataset):
    narrow = made("mlp", [6, 5], dataset).initialise(0)
    wide = made("mlp", [6, 9], dataset).initialise(0)
    np.testing.assert_array_equal(narrow["dense1"]["kernel"], wide["dense1"]["kernel"])


@pytest.mark.parametrize("value", [1.0, np.nan, np.inf, -1e30])
def test_a_mask_zeroes_exactly_and_nothing_else(network, random_mask, random_weights, value):
    weights, mask = random_weights(network), random_mask(network)
    spoilt = {
        name: layer | {"kernel": jnp.where(mask[name], layer["kernel"], value)} for name, layer in weights.items()
    }
    masked = apply_mask(spoilt, mask)
    for name, layer in masked.items():
        kernel, kept = np.asarray(layer["kernel"]), np.asarray(mask[name])
        assert kernel[~kept].tobytes() == np.zeros((~kept).sum(), np.float32).tobytes()  # +0, bit by bit
        np.testing.assert_array_equal(kernel[kept], np.asarray(weights[name]["kernel"])[kept])
        np.testing.assert_array_equal(layer["bias"], weights[name]["bias"])


def test_pruned_weights_get_no_gradient_and_kept_ones_their_own(network, random_mask, random_weights, uniform_points):
    weights, mask, x = random_weights(network), random_mask(network), uniform_points(4)

    def loss(weights):
        return jnp.sum(network.apply(weights, x) ** 2)

    @jax.jit
    def gradients(weights):
        through_mask = jax.grad(lambda weights: loss(apply_mask(weights, mask)))(weights)
        return through_mask, apply_mask(jax.grad(loss)(apply_mask(weights, mask)), mask)

    assert_identical(*gradients(weights))


def test_taps_add_to_the_outputs_of_their_layer(network, random_weights, uniform_points):
    weights, x = random_weights(network), uniform_points(3)
    last = network.weighted[-1].name
    tap = jnp.arange(9.0).reshape(3, 3)
    logits, features = jax.jit(network.tapped)(weights, x, {last: tap})
    np.testing.assert_allclose(logits, jax.jit(network.apply)(weights, x) + tap, rtol=1e-6, atol=1e-6)
    assert features.keys() == weights.keys()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**31 - 1), st.floats(0, 1), st.sampled_from(["mlp", "cnn"]))
def test_weights_and_masks_come_back_as_they_were_stored(
    build_network, random_mask, random_weights, seed, density, name
):
    network = build_network(name)
    weights, mask = random_weights(network, seed), random_mask(network, density, seed)
    assert_identical(decode_weights(encode_weights(weights), "w"), weights)
    assert_identical(decode_mask(encode_mask(mask), "m"), mask)
    assert encode_weights(weights) == encode_weights(random_weights(network, seed))
    assert encode_mask(mask) == encode_mask(dict(mask))


def test_what_is_no_npz_is_named_in_the_error():
    with pytest.raises(InputError, match=r"initial\.npz"):
        decode_weights(b"not an archive", "initial.npz")
