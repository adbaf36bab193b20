"""Attacks and suites by name: what a short name decides is written out, what may not be changed is refused."""

import pytest

from awt.attacks.attacker import make
from awt.attacks.registry import ATTACKS, SUITES, check, resolved, suite
from awt.errors import InputError


@pytest.mark.parametrize("name", ATTACKS)
def test_a_name_is_an_attack_with_all_its_settings(name):
    reference, settings = resolved(name, {})
    attack = make(reference, settings)
    assert (attack.name, set(attack.norms) <= {"linf", "l2", "l1"}) == (name, True)
    assert len(attack.tries(10)) >= 1
    assert resolved(name, settings) == (reference, settings)
    assert make(*resolved(name, settings)) == attack
    hash(attack)  # a static argument of jit


def test_changes_are_settings():
    assert resolved("square", {"queries": 7})[1] == resolved("square", {})[1] | {"queries": 7}
    assert resolved("fgsm", {})[1]["steps"] == 1


def test_suites_are_of_attacks_and_an_attack_is_a_suite_of_its_own():
    for name in SUITES:
        assert set(suite(name)) <= ATTACKS.keys()
    assert suite("square") == ("square",)
    assert suite("mine:Attack") == ("mine:Attack",)


def test_a_user_s_own_attack_is_named_with_its_settings():
    assert resolved("awt.attacks.square:Square", {"queries": 9}) == (
        "awt.attacks.square:Square",
        {"queries": 9, "share": 0.8, "restarts": 1, "name": "square"},
    )
    check(("mine:Attack",), {"mine:Attack": {"strength": 3}})


@pytest.mark.parametrize(
    ("names", "changes", "message"),
    [
        (("autoatack",), {}, r"^evaluate\.suites: 'autoatack' is neither .*did you mean `autoattack`"),
        (("zzz",), {}, r"^evaluate\.suites: 'zzz' is neither a suite nor an attack; known: pgd100"),
        ((), {"sqare": {}}, r"^evaluate\.attacks: 'sqare' .*did you mean `square`"),
        ((), {"square": {"steps": 3}}, r"^evaluate\.attacks\.square\.steps: unknown key; allowed: queries, restarts"),
        ((), {"fgsm": {"steps": 3}}, r"^evaluate\.attacks\.fgsm\.steps: unknown key; allowed: none"),
    ],
)
def test_names_and_changes_that_are_not_known_are_refused(names, changes, message):
    with pytest.raises(InputError, match=message):
        check(names, changes)
