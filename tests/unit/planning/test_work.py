"""What cells cost: by hand, of a network of 6-4-10, a pass of which is 2 · (24 + 40) = 128 operations."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from awt.evaluation.cells import attack_cell, sanity_cell
from awt.kernels.dense_cells import dense_side_cell, teacher_cell, views_cell
from awt.kernels.estimators import Masked, Probe
from awt.params import ATTACKS
from awt.planning import work
from awt.planning.attack_work import attack_flops
from awt.planning.kernel_work import product_flops
from awt.planning.outline import Outline
from awt.planning.search_work import training_passes
from awt.planning.size import size
from awt.runtime.cell import Source
from awt.tickets.cells import READS, mask_cell
from awt.training.cells import retrain_cell

PASS = 128
MODEL = {"method": "awt", "density": 0.1, "seed": 0}


def test_training(params, facts):
    asked = params({"retrain.epochs": 5, "retrain.batch": 32, "retrain.attack.steps": 7})
    found = work.cost(retrain_cell(asked, MODEL, {}), facts)
    assert found.flops == 5 * PASS * (96 * (2 * 7 + 3) + 10 * (2 * 7 + 2))
    assert found.files == 4 * (24 + 4 + 40 + 10)


@pytest.mark.parametrize(
    ("objective", "passes"), [("natural", 3), ("fgsm", 5), ("pgd", 17), ("trades", 21), ("beta", 153)]
)
def test_objectives(params, objective, passes):
    asked = params({"retrain.objective": objective, "retrain.attack.steps": 7}).retrain
    assert training_passes(asked, 10) == passes


def test_training_without_a_threat_is_not_attacked(params):
    assert training_passes(params().retrain, 10, eps=0.0) == 3


def test_a_teacher_is_trained_as_a_ticket(params, facts):
    asked = params({"search.teacher_epochs": 3, "search.batch": 50, "search.attack.steps": 2})
    assert work.cost(teacher_cell(asked, "awt", 0, {}), facts).flops == 3 * PASS * (100 * 7 + 10 * 6)


def test_a_search(params, facts):
    asked = params({"search.epochs": 6, "search.batch": 10, "search.attack.steps": 2, "search.rewinds": 2})
    steps = 6 * 100 * (2 * 2 + 3) * PASS
    held_out = 7 * 80 * (5 * PASS + product_flops(facts, 8))
    assert work.cost(mask_cell(asked, ("awt", 0.1, 0), {}), facts).flops == steps + held_out
    kernel = params(
        {"search.epochs": 6, "search.batch": 10, "search.attack.steps": 2, "search.rewinds": 2, "search.gamma": 1.0}
    )
    more = 6 * 100 * product_flops(facts, 2, gradient=True)
    assert work.cost(mask_cell(kernel, ("awt", 0.1, 0), {}), facts).flops == steps + held_out + more


def test_products_with_a_kernel_are_cheaper_in_the_first_layer(facts):
    first, second = 2 * 24, 2 * 40
    assert product_flops(facts, 3) == first * (2 + 2 * 3) + second * (2 + 4 * 3)
    assert product_flops(facts, 3, gradient=True) == 2 * first * (2 + 2 * 3) + 3 * second * (2 + 4 * 3)


@pytest.mark.parametrize(("name", "widths"), [("mlp", (64, 32)), ("cnn", (8, 16, 32))])
@pytest.mark.parametrize("probes", [1, 3])
def test_products_with_a_kernel_as_xla_counts(network, name, widths, probes):
    shape, number = (12, 12, 1), 16
    net, data = network(name, widths, shape), Outline(shape, 10, {})
    weights, x, mask = net.initialise(0), jnp.zeros((number, *shape)), net.everything()

    def views(weights, x, moved):
        return Probe(probes).views(Masked(net, weights, mask), x, moved, jax.random.PRNGKey(0), jnp.zeros((number, 10)))

    def total(weights, x, moved):
        return (views(weights, x, moved) ** 2).sum()

    facts = work.Facts(data, size(net, shape), 0.0)
    for function, gradient in ((views, False), (jax.grad(total), True)):
        counted = jax.jit(function).lower(weights, x, x).compile().cost_analysis()["flops"]
        assert counted == pytest.approx(number * product_flops(facts, probes, gradient), rel=0.3)


@pytest.mark.parametrize("method", READS)
def test_every_method_has_a_cost(params, facts, method):
    found = work.cost(mask_cell(params({"search.batch": 10}), (method, 0.5, 0), {}), facts)
    assert (found.flops > 0) == (method not in ("dense", "magnitude", "random", "shuffled"))
    assert found.files > 0
    assert found.memory > 0


def test_attacks(facts):
    for name, passes in {
        "fgsm": 3 + 1,
        "pgd20": 41 + 1,
        "apgd-ce": 202 + 1,
        "apgd-t": 9 * (202 + 1),
        "deepfool": 50 * 12 + 1,
    }.items():
        assert attack_flops(name, {}, facts) == (passes + 1) * PASS
    assert attack_flops("pgd20", {"steps": 5, "restarts": 3}, facts) == (3 * (11 + 1) + 1) * PASS
    assert attack_flops("square", {"queries": 100}, facts) == (100 + 2) * PASS + 100 * 6 * 400
    assert attack_flops("fab-t", {"steps": 10}, facts) == (9 * (30 + 1) + 1) * PASS + 9 * 10 * 6 * 1200


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_a_cost(params, facts, name):
    found = work.cost(attack_cell(params(), MODEL, 0, name, (8, 20), {}), facts)
    assert found.flops == 12 * attack_flops(name, {}, facts)


def test_the_dense_side(params, facts):
    asked = params({"search.batch": 30, "search.attack.steps": 4, "search.epochs": 5, "search.rewinds": 0})
    side = work.cost(dense_side_cell(asked, "awt", 0, {}), facts)
    assert (side.flops, side.files) == (90 * 9 * PASS, 4 * 90 * (6 + 10))
    assert work.cost(views_cell(asked, "awt", 0, {}), facts).files == 4 * 3 * 8 * 30 * 10
    paper = work.cost(views_cell(asked, "awt_paper", 0, {}), facts)
    assert paper.files == 4 * (60 * 3 * 2 * 30 * 10 + 3 * 8 * 30 * 10)


def ticket(name):
    return Source(Path(name), name)


def test_tickets_of_small_networks_share_programs(params, facts):
    cells = [retrain_cell(params(), MODEL | {"seed": seed}, {"mask": ticket(f"mask {seed}")}) for seed in (0, 1)]
    assert len({program for cell in cells for program in work.cost(cell, facts).programs}) == 2
    checks = [sanity_cell(params(), MODEL | {"seed": seed}, {"model": ticket(f"model {seed}")}) for seed in (0, 1)]
    assert len({work.cost(cell, facts).programs for cell in checks}) == 1


def test_tickets_of_large_networks_have_their_own(params, network):
    data = Outline((28, 28, 1), 10, {"train": 100, "validation": 10, "test": 20})
    large = work.Facts(data, size(network("mlp", (300, 100), data.shape), data.shape), 0.0)
    cells = [retrain_cell(params(), MODEL, {"mask": ticket(f"mask {seed}")}) for seed in (0, 1)]
    assert len({program for cell in cells for program in work.cost(cell, large).programs}) == 4


def test_memory_grows_with_the_batch_and_the_data(facts):
    assert facts.memory(100) > facts.memory(10) > work.PROCESS
    data = Outline((2, 3, 1), 10, {"train": 1000, "validation": 10, "test": 20})
    assert work.Facts(data, facts.size, 0.0).memory(10) > facts.memory(10)
