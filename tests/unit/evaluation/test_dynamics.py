"""Side by side: a ticket that prunes nothing is the dense network; slopes, grafts and the bound are what they say."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack
from awt.evaluation.dynamics import dual_slope, grafted, input_jacobian, lazy_ratio, side_by_side
from awt.training.options import Training

TRAINING = Training(epochs=3, batch=12, learning_rate=0.01, attack=Attack(steps=2))


@pytest.fixture
def trained(build_network, dataset):
    """The table of a mask, on the first ten test points."""
    network = build_network("mlp")
    ball = Ball("linf", 0.05, (1.0,), True)
    return lambda mask: side_by_side(network, network.initialise(0), mask, dataset, ball, TRAINING, 10, 0)


def test_a_ticket_that_prunes_nothing_goes_with_the_dense_network(trained, build_network):
    table = trained(build_network("mlp").everything())
    assert table["epoch"].tolist() == [0, 1, 2, 3]
    assert (table[["gap", "gap_adversarial"]] == 0).all(axis=None)
    assert (table["alpha"] < 1e-6).all()  # the kernel with a mask of ones is summed in another order
    assert table["lazy_dense"].iloc[0] == 0
    assert table["lazy_dense"].is_monotonic_increasing
    np.testing.assert_allclose(table["graft_dense_first_1"], 1 - table["natural_dense"], atol=1e-6)


def test_a_ticket_stays_within_the_bound(trained, build_network, random_mask):
    table = trained(random_mask(build_network("mlp"), 0.4))
    assert (table["gap"] > 0).all()
    assert (table["gap"] < table["bound"]).all()
    assert table["bound"].iloc[0] == pytest.approx(4 * (table["alpha"][0] + 4 * table["slope"].max() * 0.05) ** 2)


def test_slopes_are_those_of_differences(build_network, random_weights, uniform_points):
    network = build_network("mlp")
    weights, x = random_weights(network), uniform_points(3)
    jacobian = np.asarray(input_jacobian(network, weights, x))
    step = 1e-2
    for pixel in ((0, 0, 0), (2, 1, 0)):
        ahead, behind = (network.apply(weights, x.at[(slice(None), *pixel)].add(sign * step)) for sign in (1, -1))
        np.testing.assert_allclose(
            jacobian[(slice(None), slice(None), *pixel)], (ahead - behind) / (2 * step), atol=0.05
        )


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_no_small_perturbation_changes_outputs_more_than_the_slope(norm, build_network, random_weights, uniform_points):
    network = build_network("mlp")
    weights, x = random_weights(network), uniform_points(4)
    ball = Ball(norm, 1e-3, (1.0,), False)
    most = dual_slope(ball, input_jacobian(network, weights, x))
    apply = jax.jit(partial(network.apply, weights))
    for number in range(20):
        moved = ball.random(jax.random.PRNGKey(number), x)
        change = jnp.linalg.norm(apply(moved) - apply(x), axis=1)
        assert (change <= most * ball.size(moved - x) * 1.01 + 1e-5).all()


def test_grafts_take_layers_from_both(build_network, random_weights):
    network = build_network("mlp")
    one, other = random_weights(network, 1), random_weights(network, 2)
    mixed = grafted(network, one, other, 1)
    assert [mixed[name] is one[name] for name in ("dense1", "dense2", "dense3")] == [True, False, False]


def test_lazy_ratio_counts_kept_weights_only():
    initial = {"dense1": {"kernel": jnp.array([[3.0, 4.0]]), "bias": jnp.zeros(2)}}
    moved = {"dense1": {"kernel": jnp.array([[6.0, 0.0]]), "bias": jnp.ones(2)}}
    assert lazy_ratio(moved, initial) == pytest.approx(1.0)
