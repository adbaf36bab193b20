"""A network's operations: by hand, and as XLA counts them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.data.dataset import Description
from awt.models.architecture import Model, build
from awt.models.registry import resolved
from awt.models.size import size


def network(name, widths, shape):
    """For images of a shape and ten classes."""
    data = Description(shape, 10, np.array([0.2]), np.array([0.3]))
    return build(resolved(Model(name=name, widths=widths, init="he")), data)


def test_an_mlp_by_hand():
    found = size(network("mlp", (300, 100), (28, 28, 1)), (28, 28, 1))
    assert found.forward == 2 * (784 * 300 + 300 * 100 + 100 * 10)
    assert found.weights == 784 * 300 + 300 + 300 * 100 + 100 + 100 * 10 + 10
    assert found.values == 784 + 300 + 300 + 100 + 100 + 10


def test_a_cnn_by_hand():
    found = size(network("cnn", (32, 64, 1024), (28, 28, 1)), (28, 28, 1))
    convolutions = 28 * 28 * 9 * 32 + 14 * 14 * 9 * 32 * 64
    assert found.forward == 2 * (convolutions + 7 * 7 * 64 * 1024 + 1024 * 10)
    assert found.weights == 10 * 32 + (9 * 32 + 1) * 64 + (3136 + 1) * 1024 + 1025 * 10


def test_an_odd_side_is_pooled_as_the_network_does():
    found = size(network("cnn", (2, 3, 4), (7, 7, 1)), (7, 7, 1))
    assert [layer.positions for layer in found.layers] == [49, 9, 1, 1]
    assert found.layers[2].seen == 3


@pytest.mark.parametrize(("name", "widths"), [("mlp", (64, 32)), ("cnn", (32, 64, 128))])
def test_as_xla_counts(name, widths):
    net, shape, number = network(name, widths, (12, 12, 1)), (12, 12, 1), 16
    weights, x = net.initialise(0), jnp.zeros((number, *shape))

    def total(weights, x):
        return net.apply(weights, x).sum()

    programs = {1: net.apply, 2: jax.grad(total, argnums=1), 3: jax.grad(total, argnums=(0, 1))}
    for passes, function in programs.items():
        counted = jax.jit(function).lower(weights, x).compile().cost_analysis()["flops"]
        assert counted == pytest.approx(passes * number * size(net, shape).forward, rel=0.15)
