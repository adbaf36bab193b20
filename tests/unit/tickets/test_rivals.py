"""The methods that AWT is measured against are what their papers say, each checked another way."""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from awt.errors import InputError
from awt.models.network import apply_mask
from awt.tickets.concrete import _shift
from awt.tickets.dns import dns
from awt.tickets.grasp import grasp
from awt.tickets.imp import imp
from awt.tickets.iwi import iwi
from awt.tickets.magnitude import magnitude
from awt.tickets.masks import annealed, counts, dropped_late, magnitudes, select
from awt.tickets.random import random
from awt.tickets.shuffled import shuffled
from awt.tickets.snip import snip
from awt.tickets.synflow import synflow


def scores_agree(mask, scores, kept):
    """That a mask is of the largest scores, up to rounding where they are nearly equal."""
    expected = select({name: jnp.asarray(score) for name, score in scores.items()}, jnp.asarray(kept))
    differ = sum(int((np.asarray(mask[name]) != np.asarray(expected[name])).sum()) for name in mask)
    return differ <= 2


def natural_loss(asked):
    """The mean loss on the first batches, in double precision, as a function of the kernels alone."""
    setting, options = asked
    x, y = (jnp.asarray(part[: options.score_batches]) for part in setting.batches)
    biases = {name: layer["bias"] for name, layer in setting.initial.items()}

    def loss(kernels):
        weights = {name: {"kernel": kernel, "bias": biases[name]} for name, kernel in kernels.items()}
        logits = jax.vmap(lambda x: setting.network.apply(weights, x))(x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return loss


def slopes(setting, function):
    """How a function of the kernels changes as each weight is scaled: by central differences, in double precision."""
    kernels = {name: jnp.asarray(layer["kernel"], jnp.float64) for name, layer in setting.initial.items()}
    found = {}
    for name, kernel in kernels.items():
        found[name] = np.zeros(kernel.shape)
        for place in itertools.product(*map(range, kernel.shape)):
            ends = [function(kernels | {name: kernel.at[place].multiply(1 + sign * 1e-5)}) for sign in (1, -1)]
            found[name][place] = (ends[0] - ends[1]) / 2e-5
    return found


def test_snip_scores_what_the_loss_loses_with_a_weight(ask):
    """|θ ∂L/∂θ| is the first-order change of the loss when a weight is scaled towards 0."""
    asked = ask("snip", eps=0.0, density=0.2)
    with jax.enable_x64(True):
        scores = slopes(asked.setting, jax.jit(natural_loss(asked)))
    assert scores_agree(snip(*asked).mask, {name: np.abs(score) for name, score in scores.items()}, asked.kept)


def test_grasp_keeps_what_holds_the_gradient_up(ask):
    """−θ(Hg) is half the first-order change of ‖g‖² when a weight is removed: differences of ‖g‖² itself."""
    asked = ask("grasp", eps=0.0, density=0.2)
    with jax.enable_x64(True):
        gradient = jax.grad(natural_loss(asked))
        flow = jax.jit(lambda kernels: sum(jnp.sum(part**2) for part in gradient(kernels).values()))
        scores = slopes(asked.setting, flow)
    assert scores_agree(grasp(*asked).mask, scores, asked.kept)


def test_scores_look_at_adversarial_batches_unless_told_not_to(ask):
    natural, attacked = (snip(*ask("snip", eps=eps, density=0.2)).mask for eps in (0.0, 0.3))
    assert any(bool((natural[name] != attacked[name]).any()) for name in natural)


def test_synflow_s_one_round_scores_are_flows_through_weights(ask):
    """By matrix products: the flow through w_ij is what arrives at i, times |w_ij|, times what leaves from j."""
    asked = ask("synflow", rounds=1, density=0.2)
    setting = asked.setting
    sizes = [np.abs(np.asarray(layer["kernel"], float)) for _, layer in sorted(setting.initial.items())]
    arriving = [np.ones(len(sizes[0]))]
    for size in sizes[:-1]:
        arriving.append(arriving[-1] @ size)
    leaving = [np.ones(sizes[-1].shape[1])]
    for size in sizes[:0:-1]:
        leaving.insert(0, size @ leaving[0])
    flows = [a[:, None] * size * b for a, size, b in zip(arriving, sizes, leaving, strict=True)]
    scores = {name: flow / flows[0].sum() for name, flow in zip(sorted(setting.initial), flows, strict=True)}
    np.testing.assert_allclose([score.sum() for score in scores.values()], 1.0)  # as much flows through every layer
    assert scores_agree(synflow(*asked).mask, scores, asked.kept)


def test_synflow_never_takes_back_what_it_pruned(ask):
    """More rounds refine: the masks of a run at the densities on the way contain each other."""
    coarse, fine = (synflow(*ask("synflow", rounds=rounds, density=0.1)).mask for rounds in (2, 4))
    half = synflow(*ask("synflow", rounds=1, density=0.1**0.5)).mask
    assert all(bool((half[name] | ~coarse[name]).all()) for name in coarse)
    assert any(bool((coarse[name] != fine[name]).any()) for name in coarse)


def test_imp_prunes_trained_weights_in_rounds_and_rewinds(ask):
    asked = ask("imp", epochs=4, rounds=2, density=0.1)
    ticket = imp(*asked)
    assert ticket.start is None
    once = imp(*ask("imp", epochs=2, rounds=1, density=0.1**0.5)).mask  # the first of the two rounds
    assert all(bool((once[name] | ~ticket.mask[name]).all()) for name in once)
    at_start = select(magnitudes(asked.setting.initial), asked.kept)
    assert any(bool((ticket.mask[name] != at_start[name]).any()) for name in at_start)


def test_iwi_hands_the_small_network_s_weights_to_the_large_one(ask):
    asked = ask("iwi", epochs=2)
    ticket = iwi(*asked)
    assert ticket.trains_all
    for name, layer in asked.setting.initial.items():
        kept = np.asarray(ticket.mask[name])
        np.testing.assert_array_equal(ticket.start[name]["kernel"][~kept], layer["kernel"][~kept])
        assert not np.array_equal(ticket.start[name]["kernel"][kept], layer["kernel"][kept])


def test_dns_lets_pruned_weights_grow_back(ask):
    ticket = dns(*ask("dns", epochs=4, teacher_rate=0.05, anneal_share=0.5))
    asked = ask("dns")
    at_start = select(magnitudes(asked.setting.initial), asked.kept)
    assert any(bool((ticket.mask[name] & ~at_start[name]).any()) for name in at_start)
    masked = apply_mask(ticket.start, ticket.mask)
    assert all(bool((masked[name]["kernel"] == ticket.start[name]["kernel"]).all()) for name in masked)


def test_the_curve_of_dns_is_its_distance_from_the_dense_network_as_initialised(ask):
    """At a density of 1, unattacked, before any step, it is that network; then it goes its own way."""
    first, *_, last = dns(*ask("dns", eps=0.0, epochs=2, teacher_rate=0.05, anneal_share=1.0)).curve
    assert first["kept"] == pytest.approx(1.0)
    assert first["kernel_distance"] == pytest.approx(0.0, abs=1e-6)
    assert last["kernel_distance"] > 0
    assert last["target_distance"] > first["target_distance"]
    assert last["kept"] < first["kept"]
    assert 0 <= first["accuracy"] <= 1


def test_shuffled_and_random_take_after_another_mask_layer_by_layer(ask):
    setting = ask("random").setting
    shapes = setting.network.kernel_shapes
    other = {name: jnp.arange(np.prod(shape)).reshape(shape) % 4 == 0 for name, shape in shapes.items()}
    density = sum(int(kept.sum()) for kept in other.values()) / sum(kept.size for kept in other.values())
    masks = {}
    for method in (shuffled, random):
        setting, options = ask(method.__name__, density)
        mask = masks[method] = method(replace(setting, other=other), options).mask
        assert {name: kept.sum() for name, kept in mask.items()} == {name: kept.sum() for name, kept in other.items()}
        assert any(bool((mask[name] != other[name]).any()) for name in other)
    assert any(bool((masks[shuffled][name] != masks[random][name]).any()) for name in other)


def test_one_shot_prunes_the_teacher(ask):
    asked = ask("magnitude", teacher_epochs=2, weights="teacher")
    mask = magnitude(*asked).mask
    expected = select(magnitudes(asked.setting.teacher), asked.kept)
    assert all(bool((mask[name] == expected[name]).all()) for name in mask)


def test_concrete_logits_are_shifted_to_the_expected_density():
    rng = np.random.default_rng(0)
    scores = {"a": jnp.asarray(rng.normal(size=(30, 20))), "b": jnp.asarray(3 + rng.normal(size=(10,)))}
    for density in (0.01, 0.3, 0.99):
        shift = float(_shift(scores, jnp.asarray(density)))
        flat = np.concatenate([np.asarray(score).ravel() for score in scores.values()]) + shift
        assert np.mean(1 / (1 + np.exp(-flat))) == pytest.approx(density, rel=1e-3)


SHAPES = {"dense1": (40, 20), "dense2": (20, 10)}


@pytest.mark.parametrize("scope", ["layer", "global", "erk"])
def test_annealed_counts_fall_from_everything_to_the_density(scope):
    kept = annealed(SHAPES, 0.1, scope, 20, 0.75).sum(axis=1)
    assert kept[0] == 1000
    assert (np.diff(kept) <= 0).all()
    assert (kept[15:] == 100).all()
    assert kept[12] > 100
    left = 1 - 5 / 15
    assert kept[5] == pytest.approx(1000 * (0.1 + 0.9 * left**3), abs=1)


def test_rounds_drop_weights_at_their_end_and_geometrically():
    kept = dropped_late(SHAPES, 0.008, "global", 20, 0.4, rounds=2)[:, 0]
    assert (kept[:7] == 200).all()  # the cube root: as the mask before the rounds
    assert 40 < kept[8] < 200
    assert (kept[10:17] == 40).all()
    assert 8 < kept[18] < 40
    assert kept[20] == 8
    assert dropped_late(SHAPES, 0.008, "global", 20, 0.0, rounds=2)[:, 0].tolist() == [200] * 10 + [40] * 10 + [8]
    assert dropped_late(SHAPES, 0.008, "global", 0, 0.4, rounds=2).tolist() == [[8]]


def test_a_density_that_keeps_too_little_is_named_itself():
    with pytest.raises(InputError, match=r"tickets\.densities: 0\.0001 keeps 0 weights"):
        annealed(SHAPES, 0.0001, "global", 20, 0.75)


@pytest.mark.parametrize(("updates", "share"), [(10, 0.0), (0, 0.75), (0, 0.0)])
def test_without_annealing_or_updates_the_density_is_there_from_the_start(updates, share):
    kept = annealed(SHAPES, 0.1, "global", updates, share)
    assert kept.shape == (updates + 1, 1)
    assert (kept == counts(SHAPES, 0.1, "global")).all()
