"""All that the project uses of neural-tangents works on this JAX, and its import leaves JAX as it was.

Its three empirical implementations and gradients through them, the layers of stax, batching, and gradient flow: each
against something computed otherwise, so that an upgrade that breaks one is seen here.
"""

import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import awt
from awt.kernels._neural_tangents import IMPLEMENTATIONS, analytic_kernels, empirical_ntk, flow, stax
from awt.kernels.exact import tangent_kernel
from awt.models.layers import Conv


def by_convolution(network):
    """The network's function with lax.conv: neural-tangents has no structured derivatives of shifts."""

    def function(weights, x):
        for layer in network.layers:
            if isinstance(layer, Conv):
                x = layer.convolve(weights[layer.name], x)
            elif hasattr(layer, "name"):
                x = layer.apply(weights[layer.name], x)
            else:
                x = layer(x)
        return x

    return function


def kernel_and_gradient(kernel, weights):
    """The kernel at some weights, and by layer the gradient of a random combination of its entries."""
    combination = np.random.default_rng(0).normal(size=(3, 2, 3, 3)).astype(np.float32)

    def value(weights):
        gram = kernel(weights)
        return jnp.vdot(combination, gram), gram

    (_, gram), gradient = jax.jit(jax.value_and_grad(value, has_aux=True))(weights)
    return {"kernel": gram} | {name: layer["kernel"] for name, layer in gradient.items()}


@pytest.fixture(scope="module", params=["mlp", "cnn"])
def sparse(request, build_network, random_weights, random_mask, uniform_points):
    """A sparse network as a function of weights and points, some of both, and its exact kernel with gradients."""
    network = build_network(request.param)
    weights, mask = random_weights(network), random_mask(network)
    x, other = uniform_points(3), uniform_points(2, seed=1)
    apply = by_convolution(network)

    def function(weights, x):  # masked by a product: of a choice it has no structured derivatives either
        return apply({name: layer | {"kernel": layer["kernel"] * mask[name]} for name, layer in weights.items()}, x)

    exact = kernel_and_gradient(lambda weights: tangent_kernel(network, weights, x, other, mask), weights)
    return function, weights, x, other, exact


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_empirical_kernels_and_their_gradients_are_the_exact_ones(implementation, sparse):
    function, weights, x, other, exact = sparse
    kernel = empirical_ntk(function, implementation)
    found = kernel_and_gradient(lambda weights: kernel(weights, x, other), weights)
    assert found["kernel"].shape == (3, 2, 3, 3)
    for part, expected in exact.items():
        np.testing.assert_allclose(found[part], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max(), err_msg=part)


def test_analytic_kernels_of_a_hidden_layer_are_the_arc_cosine_ones(double):
    """Dense and Relu of stax, in closed form: E over w of relu(w·x) relu(w·x') and of their derivatives."""
    x, other = (double(np.random.default_rng(n).normal(size=(n, 5))) for n in (4, 6))
    ntk, nngp = analytic_kernels([stax.Dense(3, 1.5, None), stax.Relu(), stax.Dense(3, 1.5, None)])(x, other, 2)
    first = 1.5**2 * x @ other.T / 5
    norms = 1.5**2 * np.sqrt(np.outer((x**2).sum(axis=1), (other**2).sum(axis=1))) / 5
    angle = np.arccos(first / norms)
    second = 1.5**2 * norms * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    np.testing.assert_allclose(nngp, second, rtol=1e-12)
    np.testing.assert_allclose(ntk, second + 1.5**2 * first * (np.pi - angle) / (2 * np.pi), rtol=1e-12)


def test_analytic_kernels_average_over_positions(double, uniform_points):
    """AvgPool and Flatten of stax, after a layer that is linear in points: as if the points had been averaged."""
    x, other = (double(uniform_points(n, seed=n, shape=(5, 4, 3))) for n in (4, 2))
    layers = [stax.Dense(3, 1.0, None), stax.AvgPool((2, 2), strides=(2, 2)), stax.Flatten(), stax.Dense(3, 1.0, None)]
    _, nngp = analytic_kernels(layers)(x, other, 2)
    left, right = (points[:, :4].reshape(-1, 2, 2, 2, 2, 3).mean(axis=(2, 4)).reshape(-1, 12) for points in (x, other))
    np.testing.assert_allclose(nngp, left @ right.T / 12, rtol=1e-12)


def test_tiles_of_analytic_kernels_make_the_whole(double):
    x, other = (double(np.random.default_rng(n).normal(size=(n, 5))) for n in (6, 12))
    kernels = analytic_kernels([stax.Dense(3, 1.5, None), stax.Relu(), stax.Dense(3, 1.5, None)])
    for tiled, whole in zip(kernels(x, other, 3), kernels(x, other, 6), strict=True):
        assert tiled.shape == (6, 12)
        np.testing.assert_allclose(tiled, whole, rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 2, 2)], ids=["traced", "full"])
@pytest.mark.parametrize("time", [0.5, None])
def test_gradient_flow_decays_along_eigenvectors(shape, time, double):
    """At a rate of the kernel's eigenvalue, whatever the number of outputs; with a ridge, by it faster."""
    rates = np.diag([1.0, 3.0])
    gram = double(rates if len(shape) == 2 else np.einsum("nm,kl->nmkl", rates, np.eye(2)))
    targets = double(np.arange(4.0).reshape(2, 2))
    start = np.ones((2, 2))
    train, test = flow(gram, targets, ridge=0.25)(time, start, start, gram)
    left = np.zeros((2, 1)) if time is None else np.exp(-time * np.array([[1.25], [3.25]]))
    np.testing.assert_allclose(train, targets + left * (start - targets), rtol=1e-12)
    shrunk = np.array([[1 / 1.25], [3 / 3.25]])
    np.testing.assert_allclose(test, start + shrunk * (1 - left) * (targets - start), rtol=1e-12)


LEAVES_JAX_ALONE = """
import jax, jax.core, jax.interpreters.ad, jax.numpy as jnp
before = {module: dict(vars(module)) for module in (jax.core, jax.interpreters.ad)}
import awt.kernels._neural_tangents
for module, names in before.items():
    changed = [name for name, value in names.items() if not name.startswith("__") and vars(module)[name] is not value]
    assert not changed, changed
assert float(jax.jit(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))(1.0)) > 0
"""


def test_its_import_changes_nothing_that_jax_defines():
    subprocess.run([sys.executable, "-c", LEAVES_JAX_ALONE], check=True)


def test_only_one_module_imports_it():
    """By whatever means: no other says its name, but for that module's."""
    sources = Path(awt.__file__).parent.rglob("*.py")
    importers = [path.name for path in sources if re.search(r"(?<!_)neural_tangents", path.read_text())]
    assert importers == ["_neural_tangents.py"]
