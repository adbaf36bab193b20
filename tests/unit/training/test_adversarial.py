"""Training moves kept weights only, learns, and does not depend on where it was interrupted."""

from dataclasses import replace

import jax
import numpy as np
import optax
import pytest

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, pgd
from awt.errors import InputError, WorkError
from awt.keys import generator, key
from awt.models.network import apply_mask
from awt.options import from_json


def as_bytes(tree):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]


def test_pruned_weights_stay_exactly_zero_and_the_rest_moves(network, run_training, random_mask, random_weights, quiet):
    weights, _ = run_training(network, quiet)
    initial, mask = random_weights(network), random_mask(network)
    for name, layer in weights.items():
        pruned = ~np.asarray(mask[name])
        assert np.asarray(layer["kernel"])[pruned].tobytes() == np.zeros(pruned.sum(), np.float32).tobytes()
        assert (np.asarray(layer["kernel"]) != np.asarray(initial[name]["kernel"]))[~pruned].any()
        assert (np.asarray(layer["bias"]) != np.asarray(initial[name]["bias"])).any()


def test_learns_to_withstand_the_attack(build_network, run_training, quiet):
    _, rows = run_training(build_network("mlp"), quiet, epochs=30)
    assert [row["epoch"] for row in rows] == list(range(1, 31))
    last = rows[-1]
    assert last["loss"] < 0.5 * rows[0]["loss"]
    for name in ("train_adversarial", "validation_natural", "validation_adversarial"):
        assert last[name] > 0.8  # a third by chance
    assert last["validation_adversarial"] <= last["validation_natural"]


def test_one_step_is_adam_on_the_adversarial_loss(
    build_network, run_training, random_weights, random_mask, dataset, training_section, quiet
):
    """With one batch an epoch and one epoch, written out: attack, gradient, Adam's first step."""
    network = build_network("mlp")
    weights, rows = run_training(network, quiet, epochs=1, batch=48)
    mask, start = random_mask(network), apply_mask(random_weights(network), random_mask(network))
    order = generator(0, "retrain", "order", 0).permutation(48)
    x, y = dataset.train_x[order], dataset.train_y[order]
    attack_key = jax.random.fold_in(jax.random.fold_in(key(0, "retrain", "attack"), 0), 0)

    @jax.jit
    def expected(start):
        def function(weights, x):
            return network.apply(apply_mask(weights, mask), x)

        attack, threat = from_json(Attack, training_section["attack"]), Ball("linf", 0.05, (1.0,), True)
        moved = pgd(lambda x: function(start, x), threat, attack, x, y, attack_key)

        def loss(weights):
            return optax.softmax_cross_entropy_with_integer_labels(function(weights, moved), y).mean()

        value, gradient = jax.value_and_grad(loss)(start)
        hits = (function(start, moved).argmax(-1) == y).mean()
        return value, hits, gradient

    value, hits, gradient = expected(start)
    assert rows[0]["loss"] == pytest.approx(float(value), rel=1e-5)
    assert rows[0]["train_adversarial"] == pytest.approx(float(hits))
    for found, before, slope in zip(*map(jax.tree.leaves, (weights, start, gradient)), strict=True):
        clear = np.abs(slope) > 1e-4  # where Adam's first step is the sign
        np.testing.assert_allclose((found - before)[clear], -0.02 * np.sign(slope)[clear], rtol=1e-3)


@pytest.mark.parametrize("reports", [1, 2, 4])
def test_a_run_killed_again_and_again_ends_as_one_left_alone(
    reports, build_network, run_training, quiet, stopped_again_and_again
):
    network = build_network("mlp")
    weights, rows = run_training(network, quiet)
    found, stops = stopped_again_and_again(lambda context: run_training(network, context), reports)
    assert stops >= 2
    assert as_bytes(found[0]) == as_bytes(weights)
    assert found[1] == rows


def test_runs_follow_the_seed(build_network, run_training, quiet):
    network = build_network("mlp")
    one, same, other = (as_bytes(run_training(network, quiet, seed, epochs=1)[0]) for seed in (0, 0, 1))
    assert one == same
    assert one != other


def test_without_validation_points_its_columns_are_nan(build_network, run_training, dataset, quiet):
    data = replace(dataset, validation_x=dataset.validation_x[:0], validation_y=dataset.validation_y[:0])
    weights, rows = run_training(build_network("mlp"), quiet, data=data, epochs=1)
    assert np.isnan(rows[0]["validation_natural"])
    assert np.isnan(rows[0]["validation_adversarial"])
    assert np.isfinite(rows[0]["loss"])
    assert as_bytes(weights) == as_bytes(run_training(build_network("mlp"), quiet, epochs=1)[0])


def test_a_batch_larger_than_the_data_is_the_user_s_mistake(build_network, run_training, quiet):
    with pytest.raises(InputError, match=r"retrain\.batch: 49 is more than the 48 training points"):
        run_training(build_network("mlp"), quiet, batch=49)


def test_a_run_that_diverges_says_so(build_network, run_training, quiet):
    with pytest.raises(WorkError, match="the run diverged; lower its learning rate"):
        run_training(build_network("mlp"), quiet, learning_rate=1e30)
