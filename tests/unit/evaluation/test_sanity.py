"""Networks that only look robust are flagged; an honest one is not, and its accuracy falls to nothing as ε grows."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.attacks.ball import Ball
from awt.attacks.battery import Victim, keys_of
from awt.evaluation.sanity import curve_flags, examine


@pytest.fixture
def examined(build_network, dataset):
    """What is said of a network that tells the bands of the test pictures apart, after a change of it."""
    network = build_network("mlp")
    # three units see a band each, and are never off; the rest is silent
    first, second, third = (np.zeros(layer.kernel_shape, np.float32) for layer in network.weighted)
    for band in range(3):
        first.reshape(4, 4, 1, -1)[band, :, :, band] = 1.0
        second[band, band] = third[band, band] = 1.0
    made = {layer.name: {"kernel": kernel, "bias": np.zeros(kernel.shape[1], np.float32)}
            for layer, kernel in zip(network.weighted, (first, second, third), strict=True)}  # fmt: skip

    made["dense1"]["bias"][:3] = made["dense2"]["bias"][:3] = 20.0

    def run(change):
        change(made["dense3"])
        victim = Victim(network, jax.tree.map(jnp.asarray, made))
        keys = keys_of(jax.random.PRNGKey(0), np.arange(15))
        flags, lines = examine(victim, Ball("linf", 0.05, (1.0,), True), dataset.test_x, dataset.test_y, keys)
        return SimpleNamespace(flags=flags, **lines)

    return run


def test_an_honest_network_is_not_flagged(examined):
    said = examined(lambda layer: None)
    assert said.flags == []
    shares = [share for _, share in said.eps]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5
    assert shares[-1] == 0
    assert [steps for steps, _ in said.steps] == [1, 10, 100]


def test_flags_a_constant_network(examined):
    def constant(layer):
        layer["kernel"][:] = 0.0
        layer["bias"][0] = 1.0

    flags = examined(constant).flags
    assert "one answer for all points" in flags
    assert "gradients are zero" in flags


def test_flags_outputs_that_are_not_numbers(examined):
    assert "outputs are not numbers" in examined(lambda layer: layer["bias"].fill(np.nan)).flags


def test_flags_saturated_logits(examined):
    """The cross-entropy of a correct answer is exactly 0, and so is its gradient; the margin's is not."""

    def saturate(layer):
        layer["kernel"] *= 1e4

    said = examined(saturate)
    assert "the cross-entropy's gradient vanishes" in said.flags
    assert said.eps[-1][1] == 0  # scale does not matter to the attack that draws the curve


def test_flags_curves_that_do_not_fall():
    assert curve_flags([[0.1, 0.9], [9.0, 0.5]], [[1, 0.9], [10, 0.8], [100, 0.8]]) == [
        "no perturbation is large enough"
    ]
    assert curve_flags([[0.1, 0.9], [9.0, 0.0]], [[1, 0.9], [10, 0.8], [100, 0.9]]) == ["more steps break less"]
