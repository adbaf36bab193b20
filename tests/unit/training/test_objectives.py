"""Every objective is what its paper says, learns, and its knobs do what they say."""

import os
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from awt.attacks.ball import Ball, Threat
from awt.attacks.objectives import kl_divergence, margin
from awt.attacks.pgd import Attack, pgd
from awt.options import as_json
from awt.training.adversarial import Program
from awt.training.objectives import trades
from awt.training.objectives.objective import Goal, objective
from awt.training.objectives.registry import OBJECTIVES

BALL = Ball("linf", 0.08, (1.0,), True)
ATTACK = Attack(steps=6, step_size=None, random_start=True)
NAMES = sorted(OBJECTIVES)


@pytest.fixture(scope="module")
def setting(build_network, random_weights, dataset):
    network = build_network("mlp")
    return network, random_weights(network), jnp.asarray(dataset.train_x[:20]), jnp.asarray(dataset.train_y[:20])


def goal_of(name, label_smoothing=0.0):
    chosen = objective(OBJECTIVES[name])
    return Goal(chosen, chosen.options(), label_smoothing)


def attacked(name, setting, key=0):
    network, weights, x, y = setting
    goal = goal_of(name)
    run = jax.jit(partial(goal.attacked, partial(network.apply, weights), BALL, ATTACK))
    return run(x, y, jax.random.PRNGKey(key))


@pytest.mark.parametrize("name", NAMES)
def test_attacks_stay_in_the_ball(name, setting):
    moved = attacked(name, setting)
    assert jnp.abs(moved - setting[2]).max() <= 0.08 + 1e-6
    assert moved.min() >= 0
    assert moved.max() <= 1
    assert (name == "natural") == bool((moved == setting[2]).all())


def test_trades_raises_the_divergence_and_pays_for_it(setting):
    network, weights, x, y = setting
    moved = attacked("trades", setting)
    natural, adversarial = network.apply(weights, x), network.apply(weights, moved)
    by_chance = network.apply(weights, BALL.random(jax.random.PRNGKey(5), x))
    assert kl_divergence(natural, adversarial).mean() > 2 * kl_divergence(natural, by_chance).mean()
    value, _ = Goal(trades.OBJECTIVE, trades.Options(weight=3.0)).loss(network.apply, weights, x, moved, y)
    expected = optax.softmax_cross_entropy_with_integer_labels(natural, y).mean()
    expected += 3.0 * kl_divergence(natural, adversarial).mean()
    assert float(value) == pytest.approx(float(expected), rel=1e-5)


def test_beta_reaches_a_higher_margin_than_pgd(setting):
    network, weights, _, y = setting
    reached = [margin(network.apply(weights, attacked(name, setting)), y).mean() for name in ("beta", "pgd")]
    assert reached[0] >= reached[1] - 1e-3


def test_fgsm_takes_one_step_beyond_the_ball(setting):
    network, weights, x, y = setting
    logits = partial(network.apply, weights)
    single = Attack(steps=1, step_size=1.25 * 0.08, random_start=True)
    expected = pgd(logits, BALL, single, x, y, jax.random.PRNGKey(0))
    np.testing.assert_allclose(attacked("fgsm", setting), expected, atol=1e-6)


def test_smoothed_labels_cost_what_they_should(setting):
    network, weights, x, y = setting
    logits = network.apply(weights, x)
    labels = 0.9 * jax.nn.one_hot(y, 3) + 0.1 / 3
    value, _ = goal_of("natural", 0.1).loss(network.apply, weights, x, x, y)
    assert float(value) == pytest.approx(float(-(labels * jax.nn.log_softmax(logits)).sum(axis=1).mean()), rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_every_objective_learns(name, build_network, run_training, quiet):
    _, rows = run_training(build_network("mlp"), quiet, epochs=20, objective=OBJECTIVES[name])
    assert rows[-1]["loss"] < 0.7 * rows[0]["loss"]
    assert rows[-1]["validation_natural"] > 0.8


def test_further_threats_are_met(build_network, run_training, quiet):
    other = as_json(Threat(norm="l2", eps=0.3, eps_unit="pixel", clip=True))
    weights, rows = run_training(build_network("mlp"), quiet, extra_threats=[other], epochs=2)
    alone, _ = run_training(build_network("mlp"), quiet, epochs=2)
    assert np.isfinite(rows[-1]["loss"])
    assert any((a != b).any() for a, b in zip(jax.tree.leaves(weights), jax.tree.leaves(alone), strict=True))


def test_eps_rises_from_nothing(build_network, run_training, quiet):
    """With a warm-up over the whole run the first batches are hardly attacked."""
    _, cold = run_training(build_network("mlp"), quiet, epochs=1, learning_rate=1e-9)
    _, warm = run_training(build_network("mlp"), quiet, epochs=1, learning_rate=1e-9, warmup_share=1.0)
    _, none = run_training(build_network("mlp"), quiet, epochs=1, learning_rate=1e-9, objective=OBJECTIVES["natural"])
    assert none[0]["loss"] < warm[0]["loss"] < cold[0]["loss"]


def test_rates_follow_their_schedules(build_network):
    program = partial(Program, build_network("mlp"), BALL, ATTACK, 0.1, steps=100)

    def first_step(schedule, at):
        optimiser = program(schedule=schedule).optimiser
        state = optimiser.init(jnp.zeros(1))
        state = jax.tree.map(lambda leaf: jnp.full_like(leaf, at) if leaf.dtype == jnp.int32 else leaf, state)
        correction = (1 - 0.9 ** (at + 1)) / (1 - 0.999 ** (at + 1)) ** 0.5  # Adam's own, of moments begun at 0
        update, _ = optimiser.update(jnp.ones(1), state)
        return float(-update[0]) * correction * (0.001**0.5 / 0.1)

    assert [first_step("steps", at) for at in (0, 80, 95)] == pytest.approx([0.1, 0.01, 0.001], rel=1e-3)
    assert [first_step("cosine", at) for at in (0, 50)] == pytest.approx([0.1, 0.05], rel=1e-3)
    assert [first_step("constant", at) for at in (0, 50)] == pytest.approx([0.1, 0.1], rel=1e-3)


def test_the_best_epoch_is_kept(build_network, run_training, quiet):
    """Far too high a rate at the end of a run that did well: the weights are those of the epoch that did best."""
    network = build_network("mlp")
    kept, rows = run_training(network, quiet, epochs=12, learning_rate=0.3, keep_epoch="best")
    best = int(np.argmax([row["validation_adversarial"] for row in rows])) + 1
    until, _ = run_training(network, quiet, epochs=best, learning_rate=0.3)
    assert best < 12
    for a, b in zip(jax.tree.leaves(kept), jax.tree.leaves(until), strict=True):
        np.testing.assert_array_equal(a, b)


def test_decay_shrinks_weights(build_network, run_training, quiet):
    sizes = [
        sum(
            float((leaf**2).sum())
            for leaf in jax.tree.leaves(run_training(build_network("mlp"), quiet, decay=decay)[0])
        )
        for decay in (0.0, 1.0)
    ]
    assert sizes[1] < 0.8 * sizes[0]


def test_devices_share_a_batch(tmp_path):
    """Four devices of one process train as one does, to rounding, and each computes on a quarter of the batch."""
    code = """
import jax, jax.numpy as jnp, numpy as np, sys
from functools import partial
from awt.attacks.ball import Ball
from awt.models.mlp import mlp
from awt.models.network import Network
from awt.models.layers import Normalise
from awt.attacks.pgd import Attack
from awt.training.adversarial import Program, start, advance_epoch
from awt.training.devices import placed
assert jax.local_device_count() == 4
network = Network((Normalise((0.5,), (0.25,)), *mlp((4, 4, 1), (16,), 3, "glorot")))
x = jnp.asarray(np.random.default_rng(0).random((64, 4, 4, 1)), jnp.float32)
y = jnp.arange(64) % 3
batches = np.arange(64).reshape(4, 16)
found = []
for devices in (1, 4):
    program = Program(network, Ball("linf", 0.1, (1.0,), True), Attack(steps=3), 0.01, devices=devices)
    mask, weights = network.everything(), network.initialise(0)
    arguments = (mask, placed(x, devices), placed(y, devices), batches, jax.random.PRNGKey(0),
                 start(program, weights, mask), 0, 4)
    found.append(advance_epoch(program, *arguments))
    text = advance_epoch.lower(program, *arguments).compile().as_text()
    assert ("f32[4,16]" in text) == (devices == 4), "hidden units of a quarter of the batch"
    assert ("all-reduce" in text) == (devices == 4)
for one, four in zip(jax.tree.leaves(found[0].weights), jax.tree.leaves(found[1].weights)):
    np.testing.assert_allclose(one, four, atol=1e-4)
"""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
