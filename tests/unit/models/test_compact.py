"""A compacted network is the same function, and trains the same, with fewer units."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack
from awt.data.dataset import Dataset
from awt.models.architecture import Model, build
from awt.models.compact import compact
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.models.registry import NETWORKS
from awt.runtime.context import Context
from awt.training.adversarial import train
from awt.training.options import Training

SHAPES = {"mlp": [20, 15], "cnn": [6, 8, 12], "lenet": [6, 8, 12, 10]}
TRAINING = Training(epochs=2, batch=6, learning_rate=0.02, attack=Attack(steps=3, random_start=False))


@pytest.fixture(params=SHAPES)
def wide(request: pytest.FixtureRequest, dataset: Dataset) -> Network:
    """A network wide enough for a sparse mask to cut units off."""
    return build(Model(name=NETWORKS[request.param], widths=tuple(SHAPES[request.param]), init="glorot"), dataset)


def counted(network: Network) -> list[int]:
    return [layer.inputs for layer in network.weighted]


@pytest.mark.parametrize("density", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("pixels", [True, False])
def test_same_function(
    density: float,
    pixels: bool,
    wide: Network,
    random_weights: Callable[..., Weights],
    random_mask: Callable[..., Masks],
    uniform_points: Callable[..., jax.Array],
) -> None:
    weights, mask, x = random_weights(wide), random_mask(wide, density), uniform_points(9)
    narrow = compact(wide, weights, mask, pixels, step=1, least=0)
    seen = narrow.pixels(np.asarray(x)) if pixels else x
    ours = narrow.network.apply(apply_mask(narrow.weights(weights), narrow.mask(mask)), seen)
    np.testing.assert_allclose(ours, wide.apply(apply_mask(weights, mask), x), atol=1e-5)
    assert sum(counted(narrow.network)) < sum(counted(wide))


def test_no_unit_is_left_that_nothing_reaches(
    wide: Network, random_weights: Callable[..., Weights], random_mask: Callable[..., Masks]
) -> None:
    """By paths: a unit is left exactly when a product of masks from an input, and one to an output, passes it."""
    weights = jax.tree.map(lambda part: part if part.ndim > 1 else -jnp.abs(part), random_weights(wide))
    mask = random_mask(wide, 0.08)
    flows = []
    for layer, before in zip(wide.weighted, (None, *wide.weighted), strict=False):
        units = before.units if before else layer.inputs
        kept = np.asarray(mask[layer.name], int).reshape(-1, units, layer.units)
        flows.append(kept.sum(axis=0))
    narrow = compact(wide, weights, mask, pixels=True, step=1, least=0)
    for level in range(1, len(flows)):
        to_it, from_it = np.ones(flows[0].shape[0], int), np.ones(flows[-1].shape[1], int)
        for flow in flows[:level]:
            to_it = np.minimum(to_it @ flow, 1)
        for flow in reversed(flows[level:]):
            from_it = np.minimum(flow @ from_it, 1)
        np.testing.assert_array_equal(narrow.kept[level], np.flatnonzero(to_it * from_it))


def test_trains_as_the_whole_network(
    wide: Network, dataset: Dataset, random_mask: Callable[..., Masks], quiet: Context
) -> None:
    """From initial weights, whose biases are 0: units without inputs stay at 0, though a bias could move."""
    initial, mask = wide.initialise(0), random_mask(wide, 0.2)
    narrow = compact(wide, initial, mask, pixels=True, step=1, least=0)
    ball = Ball("linf", 0.05, (1.0,), True)
    data = replace(dataset, train_x=narrow.pixels(dataset.train_x), validation_x=narrow.pixels(dataset.validation_x))
    whole, rows = train(wide, initial, mask, dataset, ball, TRAINING, 0, quiet)
    ours, narrow_rows = train(
        narrow.network, narrow.weights(initial), narrow.mask(mask), data, ball, TRAINING, 0, quiet
    )
    restored = narrow.restored(ours, apply_mask(initial, mask))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-3), restored, whole)
    np.testing.assert_allclose(
        [list(row.values()) for row in narrow_rows], [list(row.values()) for row in rows], atol=2e-3
    )
    assert not np.array_equal(restored["dense1"]["kernel"], apply_mask(initial, mask)["dense1"]["kernel"])


def test_units_with_a_positive_bias_stay(wide: Network, random_weights: Callable[..., Weights]) -> None:
    """Nothing comes in, but what goes out is a constant that matters."""
    weights = jax.tree.map(jnp.abs, random_weights(wide))
    mask = wide.everything() | {wide.weighted[0].name: jnp.zeros(wide.weighted[0].kernel_shape, bool)}
    narrow = compact(wide, weights, mask, pixels=False, step=1, least=0)
    assert counted(narrow.network)[1:] == counted(wide)[1:]


def test_widths_are_rounded_up(wide: Network, random_mask: Callable[..., Masks]) -> None:
    narrow = compact(wide, wide.initialise(0), random_mask(wide, 0.05), pixels=True, step=4, least=0)
    for kept, (layer, _) in zip(narrow.kept[1:], pairwise((*wide.weighted, None)), strict=True):
        assert len(kept) % 4 == 0 or len(kept) == layer.units
        assert np.all(np.diff(kept) > 0)


def test_no_images_are_none(wide: Network, random_mask: Callable[..., Masks]) -> None:
    narrow = compact(wide, wide.initialise(0), random_mask(wide, 0.05), pixels=True, step=1, least=0)
    assert len(narrow.pixels(np.zeros((0, 4, 4, 1), np.float32))) == 0


def test_dense_networks_are_themselves(wide: Network) -> None:
    assert compact(wide, wide.initialise(0), wide.everything(), pixels=True, least=0).network == wide


def test_scaled_forward_passes_are_left_alone(dataset: Dataset, random_mask: Callable[..., Masks]) -> None:
    network = build(Model(name=NETWORKS["mlp"], widths=(20, 15), init="ntk"), dataset)
    assert compact(network, network.initialise(0), random_mask(network, 0.05), pixels=True, least=0).network == network


def test_small_networks_are_left_alone(wide: Network, random_mask: Callable[..., Masks]) -> None:
    assert compact(wide, wide.initialise(0), random_mask(wide, 0.05), pixels=True).network == wide
