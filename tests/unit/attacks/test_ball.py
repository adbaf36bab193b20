"""The ball: projections end in it, random points fill it evenly, the steepest step is the steepest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.attacks.ball import Ball, Threat, ball

UNITS = {"pixel": (1.0, 1.0), "std": (0.2, 0.7)}
norms = pytest.mark.parametrize("norm", ["linf", "l2"])
units = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)


def sizes(norm: str, r: np.ndarray, unit: tuple[float, ...]) -> np.ndarray:
    """‖r / unit‖ by point."""
    flat = (np.asarray(r, np.float64) / np.asarray(unit)).reshape(len(r), -1)
    return np.abs(flat).max(axis=1) if norm == "linf" else np.sqrt((flat**2).sum(axis=1))


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["linf", "l2"]),
    st.sampled_from(list(UNITS.values())),
    st.booleans(),
    st.floats(0, 3),
    st.floats(0, 10),
    st.integers(0, 2**31 - 1),
)
def test_projections_end_in_the_ball_and_in_the_box_and_keep_what_is_inside(norm, unit, clip, eps, far, seed):
    rng = np.random.default_rng(seed)
    x = jnp.asarray(rng.random((4, 3, 3, 2)), jnp.float32)
    moved = x + jnp.asarray(far * rng.normal(size=x.shape), jnp.float32)
    allowed = Ball(norm, eps, unit, clip)
    found = allowed.project(x, moved)
    assert (sizes(norm, found - x, unit) <= eps + 1e-5).all()
    if clip:
        assert found.min() >= 0
        assert found.max() <= 1
    np.testing.assert_allclose(allowed.project(x, found), found, atol=1e-6)
    np.testing.assert_array_equal(allowed.project(x, x), x)


@norms
@units
def test_projection_without_clipping_is_onto_the_nearest_point(norm, unit):
    """In the norm's own geometry: ℓ2 in units, ℓ∞ by coordinate."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.random((1, 2, 2, 2)), jnp.float32)
    moved = x + jnp.asarray(rng.normal(size=x.shape), jnp.float32)
    allowed = Ball(norm, 0.5, unit, False)
    nearest = np.square((allowed.project(x, moved) - moved) / jnp.asarray(unit)).sum()
    others = allowed.random(jax.random.key(0), jnp.tile(x, (500, 1, 1, 1)))
    assert (np.square((others - moved) / jnp.asarray(unit)).sum(axis=(1, 2, 3)) >= nearest - 1e-5).all()


@norms
@units
def test_no_direction_of_size_1_follows_a_gradient_further_than_the_steepest(norm, unit):
    rng = np.random.default_rng(1)
    gradient = jnp.asarray(rng.normal(size=(1, 2, 2, 2)), jnp.float32)
    allowed = Ball(norm, 1.0, unit, False)
    step = allowed.steepest(gradient)
    np.testing.assert_allclose(sizes(norm, step, unit), 1.0, rtol=1e-5)
    others = allowed.random(jax.random.key(0), jnp.zeros((2000, 2, 2, 2)))
    assert jnp.sum(gradient * step) >= jnp.sum(gradient * others, axis=(1, 2, 3)).max()


@norms
def test_a_gradient_of_zero_is_no_step(norm):
    step = Ball(norm, 1.0, (1.0,), True).steepest(jnp.zeros((2, 3, 3, 1)))
    np.testing.assert_array_equal(step, 0)


def random_offsets(norm: str, unit: tuple[float, ...], points: int = 20_000) -> np.ndarray:
    """Offsets in units of ε and unit, from the middle of the box so that nothing is clipped: [points, 8]."""
    x = jnp.full((points, 2, 2, 2), 0.5)
    allowed = Ball(norm, 0.1, unit, True)
    offsets = (allowed.random(jax.random.key(3), x) - x) / jnp.asarray(unit) / 0.1
    return np.asarray(offsets, np.float64).reshape(points, -1)


def assert_uniform(values: np.ndarray) -> None:
    """Kolmogorov–Smirnov against the uniform distribution on [0, 1]; 2.2/√n is exceeded once in 10⁴ seeds."""
    ranks = np.arange(1, len(values) + 1) / len(values)
    assert np.abs(np.sort(values) - ranks).max() < 2.2 / len(values) ** 0.5


@units
def test_random_points_of_the_cube_are_uniform_in_every_coordinate(unit):
    for coordinate in random_offsets("linf", unit).T:
        assert_uniform((coordinate + 1) / 2)


@units
def test_random_points_of_the_sphere_are_uniform_in_volume_and_direction(unit):
    offsets = random_offsets("l2", unit)
    dimensions = offsets.shape[1]
    radii = np.sqrt((offsets**2).sum(axis=1))
    assert_uniform(radii**dimensions)
    directions = offsets / radii[:, None]
    covariance = directions.T @ directions / len(directions) * dimensions  # the identity, channel by channel
    np.testing.assert_allclose(covariance, np.eye(dimensions), atol=0.05)
    np.testing.assert_allclose(directions.mean(axis=0), 0, atol=0.02)


@pytest.mark.parametrize(("eps_unit", "expected"), [("pixel", (1.0, 1.0)), ("std", (0.25, 1.0))])
def test_the_unit_is_the_pixel_or_the_data_s_deviation(eps_unit, expected):
    """A channel that never varies counts in pixels."""
    threat = Threat(norm="linf", eps=0.1, eps_unit=eps_unit, clip=True)
    assert ball(threat, np.array([0.25, 0.0], np.float32)) == Ball("linf", 0.1, expected, True)
