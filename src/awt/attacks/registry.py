"""The attacks by name, as awt.params.SUITES groups them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from awt.attacks.apgd import Apgd
from awt.attacks.attacker import Attacker
from awt.attacks.deepfool import DeepFool
from awt.attacks.fab import Fab
from awt.attacks.pgd import Pgd, fgsm
from awt.attacks.square import Square

REGISTRY: dict[str, Attacker] = {
    attacker.name: attacker
    for attacker in (
        fgsm(),
        Pgd(steps=20, name="pgd20"),
        Pgd(steps=100, name="pgd100"),
        Pgd(steps=100, loss="margin", name="pgd-margin"),
        Pgd(steps=100, loss="dlr", name="pgd-dlr"),
        Pgd(steps=100, loss="kl", name="pgd-kl"),
        Pgd(steps=100, targets=9, name="pgd-t"),
        Apgd(),
        Apgd("dlr", name="apgd-dlr"),
        Apgd("dlr", targets=9, name="apgd-t"),
        Fab(),
        Square(),
        DeepFool(),
    )
}


def attacker(name: str, changes: Mapping[str, int]) -> Attacker:
    """An attack by name, with some of its settings changed."""
    found: Any = REGISTRY[name]
    return cast(Attacker, replace(found, **changes))
