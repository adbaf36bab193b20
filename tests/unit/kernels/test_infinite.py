"""The infinite-width kernels are what the project's own finite networks tend to, and exactly those of one layer."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.errors import InputError
from awt.kernels import infinite
from awt.kernels._neural_tangents import JACOBIAN_CONTRACTION, analytic_kernels, empirical_ntk, stax
from awt.kernels.exact import tangent_kernel
from awt.kernels.infinite import infinite_kernels
from awt.models.cnn import cnn
from awt.models.layers import Conv, Dense, Flatten, MaxPool, Normalise, Relu
from awt.models.mlp import mlp
from awt.models.network import Network

SHAPE = (4, 4, 1)
NORMALISE = Normalise((0.5,), (0.3,))


@dataclass(frozen=True)
class AveragePool:
    """What stands in for max-pooling, as a layer of a finite network."""

    def __call__(self, x):
        n, height, width, channels = x.shape
        x = x[:, : height // 2 * 2, : width // 2 * 2]
        return x.reshape(n, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))


def average_pooled(network):
    return Network(tuple(AveragePool() if isinstance(layer, MaxPool) else layer for layer in network.layers))


def class_mean(gram):
    return np.trace(gram, axis1=2, axis2=3) / gram.shape[-1]


def relative_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


ONE_LAYER = {
    "dense": [Flatten(), Dense("dense", 42, 5, "ntk")],
    "convolution": [Conv("conv", 2, 5, 3, "ntk"), Flatten()],
    "pooled convolution": [Conv("conv", 2, 5, 3, "ntk"), MaxPool(), Flatten()],
    "even window": [Conv("conv", 2, 5, 2, "ntk"), MaxPool(), Flatten()],
}


@pytest.mark.parametrize("layers", ONE_LAYER.values(), ids=ONE_LAYER)
def test_the_tangent_kernel_of_one_layer_is_its_limit(layers, random_weights, uniform_points, jacobian_gram, double):
    """It depends on no weights: biases that positions share, padding, and pooling of odd sides included."""
    network = Network((Normalise((0.5, 0.3), (0.3, 0.2)), *layers))
    x, other = (double(uniform_points(n, seed=n, shape=(7, 3, 2))) for n in (3, 2))
    finite = average_pooled(network)
    expected = class_mean(jacobian_gram(finite.apply, double(random_weights(network)), x, other))
    assert relative_error(infinite_kernels(network, x, other, pooling="average").ntk, expected) < 1e-12


def wide(name, classes):
    """A network that is wide enough for its mean over initialisations to be near the limit.

    Its inputs are not centred, so that positions are alike and pooling leaves each layer a share in the kernel.
    """
    layers = {"mlp": mlp(SHAPE, (256, 256), classes, "ntk"), "cnn": cnn(SHAPE, (96, 96, 96), classes, "ntk")}
    return Network((Normalise((0.1,), (0.3,)), *layers[name]))


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_the_ntk_is_the_mean_tangent_kernel_of_finite_networks(name, uniform_points):
    network = wide(name, classes=3)
    x, other = uniform_points(4), uniform_points(3, seed=1)
    kernel = jax.jit(empirical_ntk(average_pooled(network).apply, JACOBIAN_CONTRACTION))
    mean = np.mean([class_mean(kernel(network.initialise(seed), x, other)) for seed in range(64)], axis=0)
    assert relative_error(mean, infinite_kernels(network, x, other, pooling="average").ntk) < 0.04


def drawn(network, seed):
    """Initial weights from the distribution of `init: ntk`; on CPUs, millions are drawn faster so than by JAX."""
    rng = np.random.default_rng(seed)
    return {
        layer.name: {"kernel": rng.standard_normal(layer.kernel_shape, np.float32), "bias": jnp.zeros(layer.units)}
        for layer in network.weighted
    }


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_the_nngp_is_the_covariance_of_outputs_of_finite_networks(name, uniform_points):
    network = wide(name, classes=64)
    x, other = uniform_points(4), uniform_points(3, seed=1)
    apply = jax.jit(lambda weights: average_pooled(network).apply(weights, jnp.concatenate([x, other])))
    outputs = np.concatenate([apply(drawn(network, seed)) for seed in range(400)], axis=1)
    covariance = outputs[:4] @ outputs[4:].T / outputs.shape[1]
    assert relative_error(covariance, infinite_kernels(network, x, other, pooling="average").nngp) < 0.05


def test_the_tangent_kernel_tends_to_the_ntk_as_the_inverse_root_of_the_width(uniform_points):
    widths, x = np.array([256, 512, 1024, 2048, 4096]), uniform_points(12, shape=(8, 8, 1))
    networks = [Network((NORMALISE, *mlp((8, 8, 1), (width, width), 10, "ntk"))) for width in widths]
    limit = infinite_kernels(networks[0], x).ntk

    def distance(network):
        kernel = jax.jit(lambda weights: tangent_kernel(network, weights, x, x))
        errors = [np.linalg.norm(class_mean(kernel(drawn(network, seed))) - limit) for seed in range(8)]
        return np.sqrt(np.mean(np.square(errors))) / np.linalg.norm(limit)

    distances = [distance(network) for network in networks]
    slope, _ = np.polyfit(np.log(widths), np.log(distances), 1)
    assert -0.6 < slope < -0.4
    assert distances[-1] < 0.03


def test_convolutions_by_shifts_are_those_of_stax(uniform_points):
    """Which is right in single precision, up to what that does to the NTK of a point with itself."""
    layers = [Conv("conv1", 1, 3, 3, "ntk"), Relu(), MaxPool(), Conv("conv2", 3, 3, 3, "ntk"), Flatten()]
    x = uniform_points(4, shape=(6, 5, 1))
    ours = infinite_kernels(Network(tuple(layers)), x, pooling="average")
    conv1, conv2 = (
        (stax.Conv(3, (3, 3), padding="SAME", W_std=2**0.5, b_std=None), infinite._bias()) for _ in range(2)
    )
    theirs = analytic_kernels([*conv1, stax.Relu(), stax.AvgPool((2, 2), (2, 2)), *conv2, stax.Flatten()])(x, x, 4)
    assert relative_error(theirs[0], ours.ntk) < 1e-3
    assert relative_error(theirs[1], ours.nngp) < 1e-5


@pytest.fixture(scope="module")
def small():
    """Networks of which kernels are cheap; widths do not matter to them."""
    return {
        "mlp": Network((NORMALISE, *mlp(SHAPE, (3,), 2, "ntk"))),
        "cnn": Network((NORMALISE, *cnn(SHAPE, (3, 3, 3), 2, "ntk"))),
    }


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_tiles_make_the_whole(name, small, uniform_points, monkeypatch):
    """Of one set, where a half is mirrored, and of two, whose last tiles are ragged; in double precision."""
    x, other = uniform_points(7), uniform_points(5, seed=1)
    whole = infinite_kernels(small[name], jnp.concatenate([x, other]), pooling="average")
    positions = 16 if name == "cnn" else 1
    monkeypatch.setattr(infinite, "TILE_ENTRIES", (3 * positions) ** 2)
    square, crossed = (infinite_kernels(small[name], x, second, pooling="average") for second in (None, other))
    for kind in ("ntk", "nngp"):
        found = np.concatenate([getattr(square, kind), getattr(crossed, kind)], axis=1)
        np.testing.assert_allclose(found, getattr(whole, kind)[:7], rtol=1e-7)


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_of_one_set_are_symmetric_and_positive(name, small, uniform_points):
    for gram in infinite_kernels(small[name], uniform_points(12), pooling="average"):
        np.testing.assert_allclose(gram, gram.T, rtol=1e-12)
        assert np.linalg.eigvalsh(gram).min() > 0


def test_memory_is_bounded_by_the_positions_of_a_tile():
    network = Network((NORMALISE, *cnn((28, 28, 1), (3, 3, 3), 2, "ntk")))
    side = infinite._tile_side(network, np.zeros((1000, 28, 28, 1)))
    assert (side * 28 * 28) ** 2 <= infinite.TILE_ENTRIES < ((side + 1) * 28 * 28) ** 2
    assert infinite._tile_side(network, np.zeros((1, 500, 500, 3))) == 1


@pytest.mark.parametrize("init", ["glorot", "he", "lecun"])
def test_only_ntk_initialisation_has_a_limit(init, build_network, uniform_points):
    for name in ("mlp", "cnn"):
        with pytest.raises(InputError, match=rf"^model\.init: {init} has no .*set model\.init: ntk"):
            infinite_kernels(build_network(name, init), uniform_points(2), pooling="average")


def test_max_pooling_needs_an_explicit_stand_in(small, uniform_points):
    with pytest.raises(InputError, match=r'^max-pooling has no .*pass pooling="average"'):
        infinite_kernels(small["cnn"], uniform_points(2))
    with pytest.raises(InputError, match=r"^pooling: 'max' has no"):
        infinite_kernels(small["cnn"], uniform_points(2), pooling="max")


@pytest.mark.parametrize("name", ["mlp", "cnn"])
@pytest.mark.parametrize("shape", [(2, 9, 4, 1), (2, 4, 4, 3), (16,), (0, 4, 4, 1)], ids=str)
def test_points_must_fit_the_network(name, shape, small, uniform_points):
    with pytest.raises(InputError, match=rf"^x: shape \[{shape[0]}"):
        infinite_kernels(small[name], jnp.zeros(shape), pooling="average")
    with pytest.raises(InputError, match=rf"^other: shape \[{shape[0]}"):
        infinite_kernels(small[name], uniform_points(2), jnp.zeros(shape), pooling="average")


def test_points_of_both_sets_are_alike(small, uniform_points):
    """The network takes pictures of both shapes, since pooling drops an odd last row."""
    with pytest.raises(InputError, match=r"^other: points of shape \[5, 4, 1\]; those of x have \[4, 4, 1\]"):
        infinite_kernels(small["cnn"], uniform_points(2), uniform_points(2, shape=(5, 4, 1)), pooling="average")


def test_normalisation_comes_first(uniform_points):
    network = Network((Conv("conv", 1, 2, 3, "ntk"), Normalise((0.0,), (1.0,)), Flatten()))
    with pytest.raises(InputError, match=r"^Normalise\(.*first layer"):
        infinite_kernels(network, uniform_points(2))
