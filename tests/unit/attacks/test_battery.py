"""A suite only ever breaks more, along its attacks and as ε grows; and it breaks what was trained on natural points."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.attacks.attacker import Attacker, make
from awt.attacks.ball import Ball
from awt.attacks.battery import Victim, begin, bucket, keys_of, strike, throw
from awt.attacks.pgd import Attack
from awt.attacks.registry import SUITES, resolved
from awt.data.dataset import Dataset, decode
from awt.data.options import Data
from awt.data.prepare import prepare
from awt.models.architecture import Model, build
from awt.training.adversarial import train
from awt.training.options import Training

LITTLE = {"apgd-ce": {"steps": 4}, "apgd-t": {"steps": 4, "targets": 2}, "fab-t": {"steps": 4, "targets": 2}}
LITTLE |= {"square": {"queries": 10}}


def suite(changes: dict[str, dict[str, int]]) -> list[Attacker]:
    return [make(*resolved(name, changes.get(name, {}))) for name in SUITES["autoattack"]]


@settings(max_examples=10)
@given(eps=st.sampled_from([0.02, 0.1, 0.4]), norm=st.sampled_from(["linf", "l2", "l1"]), seed=st.integers(0, 99))
def test_what_is_broken_stays_broken_along_a_suite_and_as_eps_grows(
    eps, norm, seed, dataset, build_network, random_weights
):
    network = build_network("mlp")
    victim, ball = Victim(network, random_weights(network, seed)), Ball(norm, eps, (1.0,), True)
    x, y = dataset.test_x, np.asarray(network.apply(victim.weights, dataset.test_x)).argmax(axis=1)
    y[:2] = (y[:2] + 1) % 3  # two are wrong from the start
    keys, outcome = keys_of(jax.random.PRNGKey(seed), np.arange(len(y))), begin(victim, x, y)
    for larger in (1.0, 1.5):
        for number, attack in enumerate(suite(LITTLE)):
            before = outcome
            outcome = strike(victim, replace(ball, eps=eps * larger), attack, number, x, y, keys, before)
            broken = ~before.standing
            np.testing.assert_array_equal(outcome.by[broken], before.by[broken])
            np.testing.assert_array_equal(outcome.size[broken], before.size[broken])
            fresh = broken != ~outcome.standing
            assert (outcome.by[fresh] == number).all()
            assert (outcome.size[fresh] <= eps * larger * (1 + 1e-5)).all()
            wrong = np.asarray(network.apply(victim.weights, outcome.moved)).argmax(axis=1) != y
            assert wrong[fresh].all()


def test_batches_are_never_too_small_and_seldom_new():
    for whole in (1, 7, 100, 1000):
        sizes = [bucket(left, whole) for left in range(1, whole + 1)]
        assert all(left <= size <= max(whole, 8) for left, size in zip(range(1, whole + 1), sizes, strict=True))
        assert len(set(sizes)) <= 8 + np.log2(whole)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return decode(prepare(Data(name="digits", validation_share=0.0), Path())["dataset.npz"], "dataset.npz")


def test_a_network_trained_on_natural_points_is_broken(digits, quiet):
    """At ε = 0.3 of the pixels' range AutoAttack leaves less than 1 % of the points standing."""
    network = build(Model(name="awt.models.mlp:MLP", widths=(64,), init="glorot"), digits)
    options = Training(
        epochs=20,
        batch=64,
        learning_rate=3e-3,
        objective="awt.training.objectives.natural:OBJECTIVE",
        attack=Attack(steps=1),
    )
    ball = Ball("linf", 0.3, (1.0,), True)
    weights, _ = train(network, network.initialise(0), network.everything(), digits, ball, options, 0, quiet)
    victim = Victim(network, jax.tree.map(jnp.asarray, weights))
    outcome = throw(victim, ball, suite({}), digits.test_x, digits.test_y, jax.random.PRNGKey(0))
    assert begin(victim, digits.test_x, digits.test_y).standing.mean() > 0.95
    assert outcome.standing.mean() < 0.01
