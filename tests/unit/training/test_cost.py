"""Passes through a network that training takes."""

import pytest

from awt.attacks.pgd import Attack
from awt.training.cost import training_passes
from awt.training.objectives.registry import OBJECTIVES
from awt.training.options import Training


@pytest.mark.parametrize(
    ("objective", "passes"), [("natural", 3), ("fgsm", 5), ("pgd", 17), ("trades", 21), ("beta", 153)]
)
def test_objectives(objective, passes):
    assert training_passes(Training(epochs=1, objective=OBJECTIVES[objective], attack=Attack(steps=7)), 10) == passes


def test_without_a_threat_there_is_no_attack():
    assert training_passes(Training(epochs=1), 10, eps=0.0) == 3
