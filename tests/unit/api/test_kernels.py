"""Kernels of any function are its Jacobians' products: natural and mixed, masked and not, whole or in blocks; products
with vectors are those of the matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import awt
from awt.api import kernels
from awt.artifacts import decode_npy, encode_npy
from awt.cells.gram import tile
from awt.cells.points import adversarial
from awt.errors import InputError
from awt.kernels.estimators import Masked
from awt.loop import UNWATCHED
from awt.models.network import encode_mask, encode_weights
from awt.options import as_json

THREAT = awt.Threat(eps=0.1)


def jacobian(network, weights, x, mask=None, projected=True):
    """∂f/∂θ of all weights at once, [n, k, parameters]."""
    flat, unravel = ravel_pytree(weights)
    kept = jnp.ones_like(flat)
    if mask is not None:
        ones = jax.tree.map(jnp.ones_like, weights)
        kept, _ = ravel_pytree(awt.apply_mask(ones, mask))
    if projected:
        return jax.jacrev(lambda flat: network.apply(unravel(kept * flat), x))(flat)
    return jax.jacrev(lambda flat: network.apply(unravel(flat), x))(kept * flat)


def oracle(network, weights, x, other, mask=None, projected=True):
    one, two = (jacobian(network, weights, points, mask, projected) for points in (x, other))
    return np.einsum("nkp,mlp->nmkl", one, two)


def close(kernel, expected):
    np.testing.assert_allclose(kernel, expected, rtol=2e-4, atol=2e-5 * np.abs(expected).max())


@pytest.fixture
def points(uniform_points):
    return uniform_points(7), uniform_points(5, seed=1)


@pytest.mark.parametrize("batch", [None, 3])
def test_kernels_of_functions_are_products_of_jacobians(foreign, points, batch):
    network, (x, other) = awt.wrap(*foreign), points
    expected = oracle(network, network.initialise(0), x, other)
    close(awt.ntk(foreign.apply, foreign.params, x, other, batch=batch), expected)
    close(awt.ntk(network, foreign.params, x, other, batch=batch), expected)
    close(awt.ntk(foreign.apply, foreign.params, x, batch=batch), oracle(network, network.initialise(0), x, x))


@pytest.mark.parametrize("projected", [True, False])
def test_masked_kernels_are_those_of_the_masked_function(foreign, points, random_mask, projected):
    network, (x, other) = awt.wrap(*foreign), points
    mask = random_mask(network)
    expected = oracle(network, network.initialise(0), x, other, mask, projected)
    close(awt.ntk(foreign.apply, foreign.params, x, other, mask=mask, projected=projected), expected)
    close(awt.ntk(network, network.initialise(0), x, other, mask=mask, projected=projected), expected)


@pytest.mark.parametrize("projected", [True, False])
def test_kernels_of_networks_too(mlp, random_weights, random_mask, points, projected):
    weights, mask, (x, other) = random_weights(mlp), random_mask(mlp), points
    expected = oracle(mlp, weights, x, other, mask, projected)
    close(awt.ntk(mlp, weights, x, other, mask=mask, projected=projected, batch=4), expected)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("batch", [2, 256])
def test_traces_and_diagonals_are_parts_of_the_whole(mlp, points, own, batch):
    f, weights, (x, other) = mlp if own else mlp.apply, mlp.initialise(0), points
    whole = awt.ntk(f, weights, x, other)
    close(awt.ntk(f, weights, x, other, shape="trace", batch=batch), np.einsum("nmkk->nm", whole))
    diagonal = np.einsum("nnkk->nk", whole[:5])
    close(awt.ntk(f, weights, x[:5], other, shape="diagonal", batch=batch), diagonal)


def test_a_kernel_of_one_set_is_symmetric_however_it_is_cut(foreign, points):
    kernel = awt.ntk(*foreign, points[0], batch=2)
    np.testing.assert_allclose(kernel, kernel.transpose(1, 0, 3, 2), atol=1e-5 * np.abs(kernel).max())


def test_a_function_without_matrices_has_a_kernel(points):
    x = np.asarray(points[0]).reshape(7, 16)
    kernel = awt.ntk(lambda w, x: x @ w[:, None], np.arange(16.0), x)
    np.testing.assert_allclose(kernel[..., 0, 0], x @ x.T, rtol=1e-5)


def test_points_of_any_shape(points):
    """Sequences of whole numbers, as language models have them."""
    table = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    tokens = np.array([[0, 1, 8], [1, 1, 2]])
    kernel = awt.ntk(lambda table, tokens: table[tokens].sum(axis=1), table, tokens)
    np.testing.assert_allclose(kernel, np.array([[3, 2], [2, 5]])[:, :, None, None] * np.eye(3))


def test_bytes_are_pixels(mlp):
    """To awt's own networks; other functions get what they are given."""
    x = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 1)).astype(np.uint8)
    weights = mlp.initialise(0)
    np.testing.assert_array_equal(awt.ntk(mlp, weights, x), awt.ntk(mlp, weights, x.astype(np.float32) / 255))
    close(awt.ntk(lambda w, x: mlp.apply(w, x / 255), weights, x), awt.ntk(mlp, weights, x))


@pytest.mark.parametrize("batch", [3, 256])
@pytest.mark.parametrize("own", [True, False])
def test_products_are_those_of_the_matrix(mlp, random_mask, points, own, batch):
    weights, mask, (x, other) = mlp.initialise(0), random_mask(mlp), points
    f = mlp if own else mlp.apply
    kept = mask if own else {f"{name}.kernel": layer for name, layer in mask.items()}
    vector = np.random.default_rng(0).normal(size=(5, 3))
    expected = np.einsum("nmkl,ml->nk", awt.ntk(f, weights, x, other, mask=kept), vector)
    close(awt.ntk_product(f, weights, x, other, vector, mask=kept, batch=batch), expected)
    square = np.einsum("nmkl,ml->nk", awt.ntk(f, weights, other), vector)
    close(awt.ntk_product(f, weights, other, None, vector, batch=batch), square)


@pytest.mark.parametrize("masked", [False, True])
def test_mixed_kernels_are_the_pipelines(dataset, mlp, model_params, random_mask, masked):
    """Of the same points, adversarial examples and all."""
    weights, mask = mlp.initialise(0), random_mask(mlp) if masked else None
    x, y = dataset.train_x[:10], dataset.train_y[:10]
    params, attack = model_params | {"seed": 0}, {"steps": 3, "step_size": None, "random_start": True}
    inputs = {"weights": encode_weights(weights)} | ({"mask": encode_mask(mask)} if masked else {})
    files = {"x": encode_npy(x), "y": encode_npy(y)} | inputs
    moved = adversarial(params | {"threat": as_json(THREAT), "attack": attack}, files, UNWATCHED)["x.npy"]
    cut = {"rows": [0, 10], "columns": [0, 10], "program": [10, 10]}
    asked = params | cut | {"engine": "exact", "projected": True, "shape": "full"}
    files = {"rows": encode_npy(x), "columns": moved} | inputs
    expected = decode_npy(tile(asked, files, UNWATCHED)["tile.npy"], "tile.npy")
    kernel = awt.mtk(mlp, weights, x, y, THREAT, mask=mask, attack=attack)
    np.testing.assert_array_equal(kernel, expected)
    assert not np.allclose(kernel, awt.ntk(mlp, weights, x, mask=mask))
    np.testing.assert_array_equal(kernel, awt.ntk(mlp, weights, x, decode_npy(moved, "x.npy"), mask=mask))


@pytest.fixture
def model_params(dataset):
    model = {"name": "awt.models.mlp:MLP", "widths": [6, 5], "init": "glorot"}
    moments = {"mean": dataset.mean.tolist(), "std": dataset.std.tolist()}
    return {"model": model, "data": {"shape": [4, 4, 1], "classes": 3} | moments}


def test_mixed_kernels_of_functions(dataset, mlp, wrapped_mlp):
    weights, x, y = mlp.initialise(0), dataset.train_x[:6], dataset.train_y[:6]
    expected = awt.mtk(mlp, weights, x, y, THREAT, attack={"steps": 2})
    close(awt.mtk(wrapped_mlp, wrapped_mlp.initialise(0), x, y, THREAT, attack={"steps": 2}), expected)
    # pictures as rows of numbers: the function has to know their shape
    rows = lambda params, x: mlp.apply(params, x.reshape(len(x), 4, 4, 1))  # noqa: E731
    close(awt.mtk(rows, weights, x.reshape(6, 16), y, THREAT, attack={"steps": 2}), expected)


def test_without_a_budget_the_mixed_kernel_is_the_natural_one(dataset, mlp):
    weights, x, y = mlp.initialise(0), dataset.train_x[:4], dataset.train_y[:4]
    np.testing.assert_array_equal(awt.mtk(mlp, weights, x, y, awt.Threat(eps=0.0)), awt.ntk(mlp, weights, x, x))


def test_blocks_are_as_large_as_memory_allows(mlp, wrapped_mlp, monkeypatch, points):
    whole = awt.ntk(wrapped_mlp, wrapped_mlp.initialise(0), points[0])
    subject = Masked(wrapped_mlp, wrapped_mlp.initialise(0))
    monkeypatch.setattr(kernels, "NUMBERS", 2 * 3 * (141 + 14))  # of two points' Jacobians: classes, weights and biases
    assert kernels._batch(None, subject, 3) == 2
    np.testing.assert_allclose(awt.ntk(wrapped_mlp, wrapped_mlp.initialise(0), points[0]), whole, rtol=1e-5, atol=1e-5)
    assert kernels._batch(None, Masked(mlp, mlp.initialise(0)), 3) == kernels.AT_ONCE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"f": 3}, "f: int is neither a network nor a function"),
        ({"params": {"dense1": 0}}, "params: they should be as network.initialise"),
        ({"x": np.zeros((2, 5, 5, 1), np.float32)}, r"x: the network takes no points of shape \[5, 5, 1\]"),
        ({"x": np.zeros((0, 4, 4, 1))}, r"x: float64 \[0, 4, 4, 1\]; it should be floating numbers \(or uint8\)"),
        ({"x": np.zeros((3, 16))}, r"x: shape \[3, 16\]; the network takes images"),
        ({"f": lambda params, x: x, "x": np.zeros(0)}, r"x: shape \[0\]; it should be points"),
        ({"other": np.zeros((2, 5, 4, 1))}, r"other: points of shape \[5, 4, 1\]; those of x have \[4, 4, 1\]"),
        ({"shape": "trac"}, "shape: 'trac'; it should be one of full, trace, diagonal"),
        ({"shape": "diagonal", "other": np.zeros((3, 4, 4, 1))}, "other: 3 points; with shape 'diagonal' as many"),
        ({"batch": 0}, "batch: 0; it should be a whole number"),
        ({"mask": {"dense1": np.ones((16, 6), bool)}}, "mask: it misses the layer 'dense2'"),
        ({"f": lambda params, x: jnp.sum(x)}, r"f: its outputs for one point have the shape \[\]"),
    ],
)
def test_what_has_no_kernel(mlp, points, change, message):
    weights = mlp.initialise(0)
    arguments = {"f": mlp, "params": weights, "x": points[0]} | change
    with pytest.raises(InputError, match=f"^{message}"):
        awt.ntk(**arguments)


def test_weights_and_masks_of_another_network(mlp, points, random_mask):
    weights, mask = mlp.initialise(0), random_mask(mlp)
    layer = {"kernel": jnp.ones((7, 6)), "bias": jnp.zeros(6)}
    with pytest.raises(InputError, match=r"params: .*dense1/kernel is 7 x 6; the network has 16 x 6"):
        awt.ntk(mlp, weights | {"dense1": layer}, points[0])
    with pytest.raises(InputError, match=r"mask: dense1 is float32 \[16, 6\]; it should be boolean, \[16, 6\]"):
        awt.ntk(mlp, weights, points[0], mask=mask | {"dense1": jnp.ones((16, 6))})
    with pytest.raises(InputError, match="mask: it has the layer 'dense9'"):
        awt.ntk(mlp, weights, points[0], mask=mask | {"dense9": jnp.ones((16, 6), bool)})
    with pytest.raises(InputError, match=r"vector: shape \[7\]; it should be \[7, 3\]"):
        awt.ntk_product(mlp, weights, points[0], None, np.ones(7))
