"""The kernel-matching search: its loss is the method's, it lowers it, and a kill costs nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from awt.attacks.pgd import Attack, pgd
from awt.kernels.estimators import cosine_distance, estimator
from awt.kernels.exact import tangent_kernel
from awt.kernels.probe import random_signs
from awt.models.network import apply_mask
from awt.tickets.awt import Pressure, Program, Student, _advance, awt
from awt.tickets.dense_side import batch_key
from awt.tickets.distances import TARGETS, Batches, kernel_distances, target_distance
from awt.tickets.masks import counts, magnitudes, select, total_kept

STILL = Attack(steps=2, step_size=None, random_start=False)


def program_of(asked, **changes):
    setting, options = asked
    values = {
        "network": setting.network,
        "threat": setting.threat,
        "attack": STILL,
        "learning_rate": options.learning_rate,
        "mask_every": 1000,
        "target": "squared",
        "distance": "frobenius",
        "estimator": estimator(options.estimator, options.probes),
        "projected": options.projected,
        "match_kernel": True,
    }
    return Program(**(values | changes))


def student_of(asked, mask, weights=None):
    weights = asked.setting.initial if weights is None else weights
    return Student(weights, optax.adam(asked.options.learning_rate).init(weights), mask, mask)


def batches_of(asked):
    setting = asked.setting
    return Batches(*setting.batches, setting.outputs, jnp.asarray(setting.views["search"][0]))


def pressure_of(asked, gamma=0.0, decay=0.0):
    """The density asked for, at every update."""
    return Pressure(jnp.tile(asked.kept, (1000, 1)), gamma, decay)


KEYS = (jax.random.key(8), jax.random.key(9))


@pytest.mark.parametrize("projected", [True, False])
def test_the_step_follows_the_gradient_of_the_published_loss(projected, ask, random_mask, random_weights, monkeypatch):
    """Adam's first moment after one step is a tenth of the gradient; the loss is written anew here, with the whole
    Gram tensor, and differentiated by central differences in double precision."""
    asked = ask()
    setting = asked.setting
    network, mask = setting.network, random_mask(setting.network)
    weights, batches = random_weights(network, 3), batches_of(asked)
    program, gamma, decay = program_of(asked, projected=projected), 0.5, 0.01
    pressure = pressure_of(asked, gamma, decay)
    order = jnp.array([4, 0, 1, 2, 3, 5, 6, 7])
    student = _advance(program, pressure, batches, student_of(asked, mask, weights), order, KEYS, 0, 0, 1)
    gradient = jax.tree.map(lambda moment: moment / 0.1, student.optimiser[0].mu)

    x, y, outputs, products = jax.tree.map(lambda array: array[4], batches)
    vectors = random_signs(batch_key(KEYS[0], 4), (program.estimator.probes, *outputs.shape))
    masked = apply_mask(weights, mask)
    moved = pgd(lambda x: network.apply(masked, x), setting.threat, STILL, x, y, None)
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        double = jax.tree.map(lambda array: jnp.asarray(array, jnp.float64), (weights, x, moved, outputs, products))
        at, x, moved, outputs, products = double

        @jax.jit
        def loss(weights):
            kept = apply_mask(weights, mask)
            target = jnp.sum((network.apply(kept, moved) - outputs) ** 2) / len(x)
            gram = tangent_kernel(network, weights, x, moved, mask, projected)
            errors = jnp.einsum("nmkl,rml->rnk", gram, vectors) - products
            kernel = jnp.mean(jnp.sum(errors**2, axis=(1, 2))) / len(x) ** 2
            size = sum(jnp.sum(layer["kernel"] ** 2) for layer in kept.values())
            return target + gamma**2 * kernel + decay * size

        for _ in range(4):
            direction = jax.tree.map(lambda array: rng.normal(size=array.shape), at)
            ahead, behind = (
                loss(jax.tree.map(lambda w, d, s=sign: w + s * 1e-6 * d, at, direction)) for sign in (1, -1)
            )
            slope = sum(
                np.vdot(np.asarray(g, float), d)
                for g, d in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True)
            )
            np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=2e-4, atol=2e-4)


def test_the_kernel_distance_is_divided_by_the_squared_points_only():
    assert float(kernel_distances(jnp.ones((1, 5, 3)), jnp.zeros((1, 5, 3)))[0]) == pytest.approx(15 / 25)
    assert float(kernel_distances(jnp.ones((1, 5, 5, 3, 3)), jnp.zeros((1, 5, 5, 3, 3)))[0]) == pytest.approx(9.0)


def test_the_target_distance_is_divided_by_the_points_only():
    assert float(target_distance(jnp.ones((5, 3)), jnp.zeros((5, 3)))) == pytest.approx(3.0)


def test_pruned_weights_keep_their_value_and_come_back(ask):
    asked = ask()
    setting = asked.setting
    mask = select(magnitudes(setting.initial), asked.kept)
    order = jnp.arange(8)
    pressure = pressure_of(asked, decay=100.0)  # a decay that wears down whatever is kept
    still = program_of(asked, match_kernel=False)
    after = _advance(still, pressure, batches_of(asked), student_of(asked, mask), order, KEYS, 0, 0, 8)
    for name, layer in after.weights.items():
        pruned = ~np.asarray(mask[name])
        np.testing.assert_array_equal(layer["kernel"][pruned], setting.initial[name]["kernel"][pruned])
        assert (np.abs(layer["kernel"]) < np.abs(setting.initial[name]["kernel"]))[~pruned].mean() > 0.9
    choosing = program_of(asked, match_kernel=False, mask_every=8)
    student = _advance(choosing, pressure, batches_of(asked), student_of(asked, mask), order, KEYS, 0, 0, 8)
    fresh = {name: np.asarray(kept & ~mask[name]) for name, kept in student.mask.items()}
    assert sum(kept.sum() for kept in fresh.values()) > 0
    for name, kept in fresh.items():  # with the values that they were pruned with
        np.testing.assert_array_equal(student.weights[name]["kernel"][kept], setting.initial[name]["kernel"][kept])


def test_the_mask_changes_every_so_many_steps_counted_over_epochs(ask):
    asked = ask()
    mask = select(magnitudes(asked.setting.initial), asked.kept)
    pressure = pressure_of(asked, decay=100.0)
    program = program_of(asked, match_kernel=False, mask_every=7)

    def changed(steps_before, stop):
        state = student_of(asked, mask)
        found = _advance(program, pressure, batches_of(asked), state, jnp.arange(8), KEYS, steps_before, 0, stop).mask
        return any(bool((found[name] != mask[name]).any()) for name in mask)

    assert not changed(0, 6)
    assert changed(0, 7)
    assert not changed(8, 5)
    assert changed(8, 6)


def test_the_search_lowers_both_distances_at_the_density_asked_for(ask):
    asked = ask()
    ticket = awt(*asked)
    first, last = ticket.curve[0], ticket.curve[-1]
    assert [row["epoch"] for row in ticket.curve] == [0, 1, 2, 3, 4]
    assert last["target_distance"] < 0.7 * first["target_distance"]
    assert last["kernel_distance"] < 0.9 * first["kernel_distance"]
    assert 0 < first["kernel_distance_error"] < first["kernel_distance"]
    assert any(row["changed"] > 0 for row in ticket.curve)
    assert sum(int(kept.sum()) for kept in ticket.mask.values()) == total_kept(asked.setting.network.kernel_shapes, 0.3)


def test_a_heavier_kernel_term_brings_the_kernel_closer(ask):
    light, heavy = (awt(*ask(gamma=gamma)).curve[-1]["kernel_distance"] for gamma in (0.001, 0.3))
    assert heavy < 0.9 * light


def test_the_first_mask_s_distances_are_those_of_the_magnitude_ticket(ask):
    """Without an attack: target distance by hand."""
    asked = ask(eps=0.0, epochs=1)
    setting = asked.setting
    first = awt(*asked).curve[0]
    masked = apply_mask(setting.initial, select(magnitudes(setting.initial), asked.kept))
    apply = jax.jit(setting.network.apply)
    gaps = [apply(masked, x) - apply(setting.initial, x) for x in setting.batches[0]]
    expected = np.mean([np.sum(np.square(gap)) / len(gap) for gap in gaps])
    assert first["target_distance"] == pytest.approx(expected, rel=1e-4)


VARIANTS = [
    {"eps": 0.0},
    {"gamma": 0.0, "scope": "erk", "projected": False},
    {"estimator": "full"},
    {"estimator": "diagonal"},
    {"estimator": "residual"},
    {"distance": "cosine", "gamma": 0.5},
    {"target": "reverse_kl"},
    {"target": "loss_gradient"},
    {"initial_mask": "random"},
    {"anneal_share": 0.75, "teacher_epochs": 2},
    {"rewind_rounds": 2, "teacher_epochs": 2, "target": "labels"},
]


@pytest.mark.parametrize("changes", VARIANTS)
def test_every_form_of_the_search_runs_and_keeps_to_the_density(changes, ask):
    asked = ask(**changes)
    ticket = awt(*asked)
    if changes.keys().isdisjoint({"anneal_share", "target"}):  # annealed from the whole network, outputs only move away
        assert ticket.curve[-1]["target_distance"] < ticket.curve[0]["target_distance"]
    assert sum(int(kept.sum()) for kept in ticket.mask.values()) == total_kept(asked.setting.network.kernel_shapes, 0.3)
    assert ticket.curve[-1]["kept"] == pytest.approx(0.3, abs=0.01)
    assert all(np.isfinite(value) for row in ticket.curve for value in row.values())


def test_densities_and_seeds_share_one_compiled_step(ask):
    awt(*ask(density=0.3, epochs=1))
    before = _advance._cache_size()
    awt(*ask(density=0.5, epochs=1))
    awt(*ask(density=0.1, epochs=1, gamma=0.2, decay=0.01))
    assert _advance._cache_size() == before


def test_masks_follow_the_seed(ask):
    one, same, other = (awt(*ask(seed=seed, epochs=1)) for seed in (0, 0, 1))
    assert all(bool((one.mask[name] == same.mask[name]).all()) for name in one.mask)
    assert one.curve == same.curve
    assert any(bool((one.mask[name] != other.mask[name]).any()) for name in one.mask)


def test_the_first_adversarial_examples_are_searched_under_attack(ask):
    """At ε = 0 the search does not attack; above it does: masks differ."""
    natural, attacked = (awt(*ask(eps=eps)).curve for eps in (0.0, 0.2))
    assert natural[0]["target_distance"] != attacked[0]["target_distance"]


def test_an_annealed_search_ends_where_it_should_and_passes_through_every_density(ask):
    curve = awt(*ask(anneal_share=0.5, epochs=4, mask_every=1)).curve
    kept = [row["kept"] for row in curve]
    assert kept[0] == 1.0
    assert kept[0] > kept[1] > kept[2]
    assert kept[2] == kept[3] == kept[4] == pytest.approx(0.3, abs=0.01)
    assert {name for name in curve[0] if name.startswith("kept ")} == {"kept dense1", "kept dense2", "kept dense3"}


def test_a_rewound_student_starts_as_the_ticket_will(ask):
    """With a rate of nothing it stays there: the last mask is the largest of θ₀ under the teacher's largest."""
    changes = {"epochs": 4, "mask_every": 1, "learning_rate": 1e-12, "decay": 0.0, "teacher_epochs": 2}
    asked = ask(rewind_rounds=2, **changes)
    setting = asked.setting
    ticket = awt(*asked)
    kept = [row["kept"] for row in ticket.curve]
    assert kept == pytest.approx([0.3 ** (1 / 3)] * 2 + [0.3 ** (2 / 3)] * 2 + [0.3], abs=0.01)
    mask = magnitudes(setting.teacher)
    for number in (1, 2, 3):
        kept_here = counts(setting.network.kernel_shapes, 0.3 ** (number / 3), "global")
        mask = select(mask, jnp.asarray(kept_here))
        last, mask = mask, magnitudes(apply_mask(setting.initial, mask))
    for name, layer in last.items():
        np.testing.assert_array_equal(ticket.mask[name], layer)


def test_a_teacher_takes_the_place_of_the_initial_weights(ask):
    """The student starts as the teacher: under a mask of ones both distances are 0."""
    asked = ask(teacher_epochs=2, anneal_share=0.75, eps=0.0)
    setting = asked.setting
    first = awt(*asked).curve[0]
    assert first["target_distance"] == pytest.approx(0, abs=1e-8)
    assert first["kernel_distance"] == pytest.approx(0, abs=1e-8)
    assert not np.array_equal(setting.teacher["dense1"]["kernel"], setting.initial["dense1"]["kernel"])


@pytest.mark.parametrize("kind", ["reverse_kl", "loss_gradient"])
def test_other_targets_are_what_their_names_say(kind):
    rng = np.random.default_rng(0)
    sparse, dense = rng.normal(size=(2, 7, 4))
    p, q = (np.exp(f) / np.exp(f).sum(axis=1, keepdims=True) for f in (sparse, dense))
    expected = {"reverse_kl": np.sum(p * np.log(p / q)) / 7, "loss_gradient": np.sum((p - q) ** 2) / 7}[kind]
    assert float(TARGETS[kind](jnp.asarray(sparse), jnp.asarray(dense))) == pytest.approx(expected, rel=1e-5)


def test_the_cosine_distance_is_blind_to_scale():
    views = jnp.asarray(np.random.default_rng(0).normal(size=(2, 5, 3)))
    assert float(cosine_distance(3.0 * views, views)) == pytest.approx(0, abs=1e-6)
    assert float(cosine_distance(-views, views)) == pytest.approx(2, abs=1e-6)
    assert float(cosine_distance(jnp.zeros_like(views), views)) == pytest.approx(1)
