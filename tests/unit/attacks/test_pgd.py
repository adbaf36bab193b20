"""PGD stays where it may, finds closed-form optima, and owes all its randomness to its key."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, pgd

UNITS = {"pixel": (1.0, 1.0), "std": (0.2, 0.7)}
norms = pytest.mark.parametrize("norm", ["linf", "l2"])
units = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
twenty = Attack(steps=20, step_size=None, random_start=True)


def labels(number: int, classes: int = 3) -> jax.Array:
    return jnp.arange(number) % classes


def linear(seed: int, classes: int, shape: tuple[int, ...] = (3, 3, 2)) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=(int(np.prod(shape)), classes)), jnp.float32)


@partial(jax.jit, static_argnums=(1, 2))
def attacked(kernel, threat, attack, x, y, key):
    """Adversarial examples of a linear classifier."""
    return pgd(partial(logits_of, kernel), threat, attack, x, y, key)


def logits_of(kernel: jax.Array, x: jax.Array) -> jax.Array:
    return x.reshape(len(x), -1) @ kernel


@norms
@pytest.mark.parametrize(
    ("unit", "eps", "step_size", "clip"),
    [((0.2, 0.7), 0.05, None, True), ((1.0, 1.0), 1.5, None, True), ((0.2, 0.7), 0.05, 7.0, False)],
)
def test_stays_in_the_ball_and_in_the_box(norm, unit, eps, step_size, clip, uniform_points):
    x = uniform_points(6, shape=(3, 3, 2)).at[0].set(0.0).at[1].set(1.0)
    attack = Attack(steps=5, step_size=step_size, random_start=True)
    moved = attacked(linear(0, 3), Ball(norm, eps, unit, clip), attack, x, labels(6), jax.random.key(0))
    offsets = (np.asarray(moved, np.float64) - np.asarray(x, np.float64)) / np.asarray(unit)
    flat = offsets.reshape(6, -1)
    size = np.abs(flat).max(axis=1) if norm == "linf" else np.linalg.norm(flat, axis=1)
    assert (size <= eps * (1 + 1e-6) + 1e-6).all()
    assert (size > 0).all()
    if clip:
        assert moved.min() >= -1e-6
        assert moved.max() <= 1 + 1e-6


@norms
def test_without_room_it_returns_its_input(norm, uniform_points):
    x = uniform_points(3, shape=(3, 3, 2))
    kernel = linear(0, 3)
    assert pgd(partial(logits_of, kernel), Ball(norm, 0.0, (1.0, 1.0), True), twenty, x, labels(3), None) is x


@norms
def test_is_deterministic_by_key_and_differs_between_keys(norm, uniform_points):
    x = uniform_points(3, shape=(3, 3, 2))
    few = Attack(steps=1, step_size=0.001, random_start=True)
    run = partial(attacked, linear(0, 3), Ball(norm, 0.1, (1.0, 1.0), True), few, x, labels(3))
    np.testing.assert_array_equal(run(jax.random.key(1)), run(jax.random.key(1)))
    assert not np.array_equal(run(jax.random.key(1)), run(jax.random.key(2)))


@norms
def test_without_a_random_start_the_key_does_not_matter(norm, uniform_points):
    x = uniform_points(3, shape=(3, 3, 2))
    attack = Attack(steps=3, step_size=None, random_start=False)
    run = partial(attacked, linear(0, 3), Ball(norm, 0.1, (1.0, 1.0), True), attack, x, labels(3))
    np.testing.assert_array_equal(run(jax.random.key(1)), run(jax.random.key(2)))


@norms
@units
def test_reaches_the_optimum_of_a_linear_classifier(norm, unit, uniform_points):
    """Of two classes the loss grows with d·r, d the difference of their kernels: at best ε‖d∘unit‖ in the dual norm."""
    x, y, eps = uniform_points(8, shape=(3, 3, 2)), labels(8, 2), 0.3
    kernel = linear(0, 2)
    attack = Attack(steps=20, step_size=0.1, random_start=True)
    moved = attacked(kernel, Ball(norm, eps, unit, False), attack, x, y, jax.random.key(0))
    away = kernel[:, 1 - y] - kernel[:, y]  # [pixels, n]
    gained = np.sum((moved - x).reshape(8, -1).T * away, axis=0)
    dual = np.asarray(away * jnp.tile(jnp.asarray(unit), 9)[:, None])
    best = eps * (np.abs(dual).sum(axis=0) if norm == "linf" else np.linalg.norm(dual, axis=0))
    np.testing.assert_allclose(gained, best, rtol=0.01)


def test_one_full_step_without_random_start_is_the_fast_gradient_sign_method(
    build_network, random_weights, uniform_points
):
    network = build_network("mlp")
    x, y, weights = uniform_points(4), labels(4), random_weights(network)
    attack = Attack(steps=1, step_size=0.1, random_start=False)
    threat = Ball("linf", 0.1, (1.0,), True)

    def loss(x):
        return optax.softmax_cross_entropy_with_integer_labels(network.apply(weights, x), y).sum()

    @jax.jit
    def both(x):
        expected = jnp.clip(x + 0.1 * jnp.sign(jax.grad(loss)(x)), 0, 1)
        return pgd(partial(network.apply, weights), threat, attack, x, y, jax.random.key(0)), expected

    moved, expected = both(x)
    np.testing.assert_allclose(moved, expected, atol=1e-6)


@pytest.mark.parametrize(("norm", "name"), [("linf", "mlp"), ("l2", "cnn")])
def test_raises_the_loss_of_networks(norm, name, build_network, random_weights, uniform_points):
    network, x, y = build_network(name), uniform_points(30), labels(30)
    threat = Ball(norm, 0.1 if norm == "linf" else 0.3, (1.0,), True)

    @jax.jit
    def losses(weights):
        function = partial(network.apply, weights)
        moved = pgd(function, threat, twenty, x, y, jax.random.key(0))
        loss = optax.softmax_cross_entropy_with_integer_labels
        return loss(function(x), y), loss(function(moved), y)

    for seed in range(3):
        before, after = losses(random_weights(network, seed))
        assert after.mean() > before.mean()


def test_no_gradient_flows_through_the_attack(build_network, random_weights, uniform_points):
    network, x, y = build_network("mlp"), uniform_points(4), labels(4)

    def total(weights):
        moved = pgd(partial(network.apply, weights), Ball("l2", 0.3, (1.0,), True), twenty, x, y, jax.random.key(0))
        return moved.sum()

    for gradient in jax.tree.leaves(jax.jit(jax.grad(total))(random_weights(network))):
        np.testing.assert_array_equal(gradient, 0)
