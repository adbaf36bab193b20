"""The attacks and suites by name: a new attack is a file beside this one and a line here."""

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from awt.attacks.attacker import make
from awt.errors import InputError
from awt.loading import is_reference, load


class Known(NamedTuple):
    """A class of attacks, its settings under this name, and those of them that a user may change."""

    attack: str
    settings: dict[str, Any]
    may_set: tuple[str, ...] = ("steps", "restarts")


_PGD, _APGD = "awt.attacks.pgd:Pgd", "awt.attacks.apgd:Apgd"
_TARGETED = ("steps", "restarts", "targets")

ATTACKS = {
    "fgsm": Known(_PGD, {"steps": 1, "random_start": False}, ()),
    "pgd20": Known(_PGD, {"steps": 20}),
    "pgd100": Known(_PGD, {"steps": 100}),
    "pgd-margin": Known(_PGD, {"steps": 100, "loss": "margin"}),
    "pgd-dlr": Known(_PGD, {"steps": 100, "loss": "dlr"}),
    "pgd-kl": Known(_PGD, {"steps": 100, "loss": "kl"}),
    "pgd-t": Known(_PGD, {"steps": 100, "targets": 9}, _TARGETED),
    "apgd-ce": Known(_APGD, {}),
    "apgd-dlr": Known(_APGD, {"loss": "dlr"}),
    "apgd-t": Known(_APGD, {"loss": "dlr", "targets": 9}, _TARGETED),
    "fab-t": Known("awt.attacks.fab:Fab", {}, ("steps", "targets")),
    "square": Known("awt.attacks.square:Square", {}, ("queries", "restarts")),
    "deepfool": Known("awt.attacks.deepfool:DeepFool", {}, ("steps",)),
}

# attacks, each on the points that the ones before it left standing
SUITES = {
    "pgd100": ("pgd100",),
    "quick": ("pgd20", "apgd-dlr"),
    "autoattack": ("apgd-ce", "apgd-t", "fab-t", "square"),  # the "standard" version
}


def suite(name: str) -> tuple[str, ...]:
    """The attacks of a suite, or the one that a name stands for itself."""
    return SUITES.get(name, (name,))


def resolved(name: str, changes: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """An attack as `module:name`, and all of its settings, those left at their defaults too."""
    known = ATTACKS.get(name) or Known(name, {})
    asked = load(known.attack)
    fields = {field.name for field in dataclasses.fields(asked)} if dataclasses.is_dataclass(asked) else set()
    named = {"name": name} if "name" in fields and name in ATTACKS else {}
    made = make(known.attack, {**known.settings, **named, **changes})
    # a function takes what was asked for, whatever it makes of it
    return known.attack, dataclasses.asdict(made) if fields and dataclasses.is_dataclass(made) else dict(changes)


def check(names: tuple[str, ...], changes: Mapping[str, Mapping[str, Any]], section: str = "evaluate.") -> None:
    """Refuses names of suites and attacks, and changes of attacks' settings, that are not known.

    `section` is what errors name them by.
    """
    for where, given, known in (("suites", names, (*SUITES, *ATTACKS)), ("attacks", tuple(changes), tuple(ATTACKS))):
        for name in given:
            if name not in known and not is_reference(name):
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(dict.fromkeys(known))}"
                raise InputError(f"{section}{where}: {name!r} is neither a suite nor an attack; {hint}")
    for name, settings in changes.items():
        allowed = ATTACKS[name].may_set if name in ATTACKS else tuple(settings)
        for key in settings:
            if key not in allowed:
                raise InputError(f"{section}attacks.{name}.{key}: unknown key; allowed: {', '.join(allowed) or 'none'}")
