"""What cells cost: by hand, of a network of 6-4-10, a pass of which is 2 · (24 + 40) = 128 operations."""

import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from awt.attacks.attacker import make
from awt.attacks.ball import Threat
from awt.attacks.pgd import Attack
from awt.attacks.registry import ATTACKS
from awt.attacks.registry import resolved as resolved_attack
from awt.kernels.cost import product_flops
from awt.models.architecture import Model
from awt.names import TicketName
from awt.options import as_json
from awt.planning.facts import PROCESS
from awt.planning.work import attack_flops, cost
from awt.runtime.cell import Cell, Source
from awt.services.dense import dense_side_cell, views_cell
from awt.services.evaluation import Judged, attack_cell, sanity_cell
from awt.services.training import training_cell
from awt.tickets.method import Views, method
from awt.tickets.registry import METHODS
from awt.training.options import Training

PASS = 128
MODEL, THREAT = Model(widths=(4,), init="he"), Threat(eps=0.1)
NAME = TicketName("awt", 0.1, 0)


@pytest.fixture
def price(described):
    return lambda cell: cost(cell, described, 1e6)


def training(**options):
    return Training(**{"epochs": 5, **options})


def retrained(options, inputs=None, model=MODEL, seed=0):
    return training_cell("retrain", "a training", seed, model, THREAT, options, inputs or {}, {})


def searched(name, **options):
    """A mask's cell of a method by its name, or of a user's own."""
    reference = METHODS.get(name, name)
    asked = method(reference)
    given = {"attack": Attack(steps=2), "batch": 10} | options
    has = {field.name for field in fields(asked.options)}
    given = {name: value for name, value in given.items() if name in has}
    params = {"method": reference, "options": as_json(asked.options(**given)), "density": 0.5, "seed": 0}
    params |= {"model": {"name": "awt.models.mlp:MLP", "widths": [4], "init": "he"}, "threat": as_json(THREAT)}
    return Cell("mask", "a mask", "awt.cells.mask:find_mask", params)


def attacked(name, points=(8, 20), **changes):
    return attack_cell(Judged(NAME, MODEL, THREAT, {}), 0, name, changes, points, {})


def test_training(price):
    found = price(retrained(training(batch=32, attack=Attack(steps=7))))
    assert found.flops == 5 * PASS * (96 * (2 * 7 + 3) + 10 * (2 * 7 + 2))
    assert found.files == 4 * (24 + 4 + 40 + 10)
    assert found.checkpoints == 6 * found.files


def test_a_search(price, facts):
    matched = {"epochs": 6, "rewind_rounds": 2, "probes": 2}
    steps = 6 * 100 * (2 * 2 + 3) * PASS
    held_out = 7 * 80 * (5 * PASS + product_flops(facts.problem, 8))
    assert price(searched("awt", gamma=0.0, **matched)).flops == steps + held_out
    more = 6 * 100 * product_flops(facts.problem, 2, gradient=True)
    assert price(searched("awt", gamma=1.0, **matched)).flops == steps + held_out + more


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_cost(price, name):
    found = price(searched(name, mask_of="awt", epochs=4))
    assert (found.flops > 0) == (name not in ("dense", "magnitude", "random", "shuffled"))
    assert found.files > 0
    assert found.memory > PROCESS


def test_a_ticket_with_weights_of_its_own_is_larger(price):
    mask, weights = 24 + 4 + 40 + 10, 4 * (24 + 4 + 40 + 10)
    assert price(searched("awt", start="rewind")).files == mask
    assert price(searched("awt", start="searched")).files == price(searched("dns")).files == mask + weights


class Unpriced:
    """An attack that does not say what it costs."""

    def tries(self, classes):
        return [None]


def test_what_a_users_code_does_not_say_is_not_known(price, monkeypatch):
    mine = ModuleType("mine_to_plan")
    mine.find, mine.Unpriced = lambda setting: None, Unpriced
    monkeypatch.setitem(sys.modules, "mine_to_plan", mine)
    mask = price(searched("mine_to_plan:find"))
    assert mask.flops is None
    assert mask.files > 0
    assert price(attacked("mine_to_plan:Unpriced")).flops is None
    assert price(Cell("own", "own", "mine_to_plan:find", {})).flops is None


def test_attacks(facts):
    def flops(name, **changes):
        return attack_flops(make(*resolved_attack(name, changes)), facts)

    for name, passes in {
        "fgsm": 3 + 1,
        "pgd20": 41 + 1,
        "apgd-ce": 202 + 1,
        "apgd-t": 9 * (202 + 1),
        "deepfool": 50 * 12 + 1,
    }.items():
        assert flops(name) == (passes + 1) * PASS
    assert flops("pgd20", steps=5, restarts=3) == (3 * (11 + 1) + 1) * PASS
    assert flops("square", queries=100) == (100 + 2) * PASS + 100 * 6 * 400
    assert flops("fab-t", steps=10) == (9 * (30 + 1) + 1) * PASS + 9 * 10 * 6 * 1200


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_a_cost(price, facts, name):
    assert price(attacked(name)).flops == 12 * attack_flops(make(*resolved_attack(name, {})), facts)


def test_the_dense_side(price):
    side = price(dense_side_cell(MODEL, THREAT, Attack(steps=4), 30, 0, {}, {"method": "awt", "seed": 0}))
    assert (side.flops, side.files) == (90 * 9 * PASS, 4 * 90 * (6 + 10))
    views = {matched: Views("probe", 2, 60, matched) for matched in (False, True)}
    cells = {
        matched: views_cell(MODEL, asked, 30, 0, {}, {"method": "awt", "seed": 0}) for matched, asked in views.items()
    }
    assert price(cells[False]).files == 4 * 3 * 8 * 30 * 10
    assert price(cells[True]).files == 4 * (60 * 3 * 2 * 30 * 10 + 3 * 8 * 30 * 10)


def ticket(name):
    return Source(Path(name), name)


def test_tickets_of_small_networks_share_programs(price):
    cells = [retrained(training(), {"mask": ticket(f"mask {seed}")}, seed=seed) for seed in (0, 1)]
    assert len({program for cell in cells for program in price(cell).programs}) == 2
    checks = [
        sanity_cell(Judged(NAME._replace(seed=seed), MODEL, THREAT, {"model": ticket(f"model {seed}")}), 20)
        for seed in (0, 1)
    ]
    assert len({price(cell).programs for cell in checks}) == 1


def test_tickets_of_large_networks_have_their_own(described):
    data = described | {"shape": [28, 28, 1]}
    large = Model(widths=(300, 100))
    cells = [retrained(training(), {"mask": ticket(f"mask {seed}")}, large) for seed in (0, 1)]
    assert len({program for cell in cells for program in cost(cell, data, 0.0).programs}) == 4


def test_memory_grows_with_the_batch_and_the_data(price, described):
    small, large = (price(retrained(training(batch=batch))).memory for batch in (10, 100))
    assert large > small > PROCESS
    more = described | {"counts": described["counts"] | {"train": 1000}}
    assert cost(retrained(training(batch=10)), more, 0.0).memory > small


def test_without_its_data_nothing_is_known_of_a_cell():
    assert cost(retrained(training()), None, 0.0).flops is None
