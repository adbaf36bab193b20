"""Operations of the evaluation's attacks: all tries, to their last step, as if every point withstood them."""

from collections.abc import Mapping
from typing import Any

from awt.attacks.apgd import Apgd
from awt.attacks.deepfool import DeepFool
from awt.attacks.fab import Fab
from awt.attacks.pgd import Pgd
from awt.attacks.registry import attacker
from awt.attacks.square import Square
from awt.evaluation.sanity import EPS, STEPS
from awt.planning.facts import Facts

# by pixel and step, beside the passes, at the speed of training (measured on MLPs): searches along the box in FAB,
# random numbers in Square; the other attacks' are as few as training's own
BESIDE = {"fab-t": 1200.0, "square": 400.0}


def attack_flops(name: str, changes: Mapping[str, int], facts: Facts) -> float:
    """By point."""
    found: Any = attacker(name, changes)
    tries, steps = len(found.tries(facts.classes)), getattr(found, "queries", None) or found.steps
    passes = tries * (try_passes(found, facts.classes) + 1) + 1  # each is judged; classes are ranked once
    return passes * facts.forward + tries * steps * facts.data.pixels * BESIDE.get(name, 0.0)


def try_passes(attack: Any, classes: int) -> float:
    """Of one try, through the network and back to the input."""
    match attack:
        case Pgd():
            return 2 * attack.steps + 1
        case Apgd():
            return 2 * (attack.steps + 1)
        case Fab():
            return 3 * attack.steps
        case Square():
            return attack.queries
        case DeepFool():
            return (classes + 2) * attack.steps
    raise AssertionError(f"no count of the passes of {attack.name}")


def sanity_flops(facts: Facts) -> float:
    """By point: APGD for each ε and once without a bound, PGD for each number of steps, a look at the gradients."""
    passes = (len(EPS) + 1) * (try_passes(Apgd("dlr", steps=50), facts.classes) + 1)
    passes += sum(try_passes(Pgd(steps=steps), facts.classes) + 1 for steps in STEPS) + 6
    return passes * facts.forward
