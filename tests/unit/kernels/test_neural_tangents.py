"""neural-tangents runs on this JAX, agrees with the exact kernels, and leaves JAX as it was."""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import awt
from awt.kernels._neural_tangents import IMPLEMENTATIONS, STRUCTURED_DERIVATIVES, empirical_ntk
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


CASES = [*(("mlp", implementation) for implementation in IMPLEMENTATIONS), ("cnn", STRUCTURED_DERIVATIVES)]


@pytest.mark.parametrize(("name", "implementation"), CASES)
def test_agrees_with_the_exact_kernels(
    name, implementation, build_network, random_weights, random_mask, uniform_points
):
    network = build_network(name)
    weights, mask = random_weights(network), random_mask(network)
    x, other = uniform_points(3), uniform_points(2, seed=1)
    apply = by_convolution(network) if implementation == STRUCTURED_DERIVATIVES else network.apply

    def sparse(weights, x):  # masked by a product: of a choice it has no structured derivatives either
        return apply({name: layer | {"kernel": layer["kernel"] * mask[name]} for name, layer in weights.items()}, x)

    @jax.jit
    def both(weights):
        theirs = empirical_ntk(sparse, implementation)(weights, x, other)
        return theirs, tangent_kernel(network, weights, x, other, mask)

    theirs, ours = both(weights)
    assert ours.shape == theirs.shape == (3, 2, 3, 3)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * np.abs(theirs).max())


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
    importers = [path.name for path in Path(awt.__file__).parent.rglob("*.py") if "neural_tangents" in path.read_text()]
    assert importers == ["_neural_tangents.py"]
