"""Operations of kernels, by hand of a network of 6-4-10, and as XLA counts them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.data.dataset import Description
from awt.kernels.cost import product_flops
from awt.kernels.estimators import Masked, Probe
from awt.models.architecture import Model, build
from awt.models.registry import resolved
from awt.models.size import Problem, size


def problem(name, widths, shape):
    data = Description(shape, 10, np.array([0.2]), np.array([0.3]))
    network = build(resolved(Model(name=name, widths=widths)), data)
    return network, Problem(size(network, shape), 10, {})


def test_products_are_cheaper_in_the_first_layer():
    _, small = problem("mlp", (4,), (2, 3, 1))
    first, second = 2 * 24, 2 * 40
    assert product_flops(small, 3) == first * (2 + 2 * 3) + second * (2 + 4 * 3)
    assert product_flops(small, 3, gradient=True) == 2 * first * (2 + 2 * 3) + 3 * second * (2 + 4 * 3)


@pytest.mark.parametrize(("name", "widths"), [("mlp", (64, 32)), ("cnn", (8, 16, 32))])
@pytest.mark.parametrize("probes", [1, 3])
def test_products_as_xla_counts(name, widths, probes):
    shape, number = (12, 12, 1), 16
    network, counted_by_us = problem(name, widths, shape)
    weights, x, mask = network.initialise(0), jnp.zeros((number, *shape)), network.everything()

    def views(weights, x, moved):
        masked = Masked(network, weights, mask)
        return Probe(probes).views(masked, x, moved, jax.random.PRNGKey(0), jnp.zeros((number, 10)))

    def total(weights, x, moved):
        return (views(weights, x, moved) ** 2).sum()

    for function, gradient in ((views, False), (jax.grad(total), True)):
        counted = jax.jit(function).lower(weights, x, x).compile().cost_analysis()["flops"]
        assert counted == pytest.approx(number * product_flops(counted_by_us, probes, gradient), rel=0.3)
