"""Numbers and parameters in words, as the report and its figures say them."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from awt.attacks.ball import Threat
from awt.attacks.registry import suite as attacks_of
from awt.models.architecture import Model
from awt.workflows.tickets.params import Evaluate, Params, effective

_NORMS = {"linf": "ℓ∞", "l2": "ℓ2", "l1": "ℓ1"}
_INITS = {"glorot": "Glorot", "he": "He", "lecun": "LeCun", "ntk": "NTK"}


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def accuracy(mean: float, spread: float, seeds: int) -> str:
    """`96.1 ± 0.3`, in percent; one seed has no spread to state."""
    return f"{percent(mean)} ± {percent(spread)}" if seeds > 1 else percent(mean)


def density(share: float) -> str:
    return f"{100 * share:.3g} %"


def decimal(value: float) -> str:
    """`0.412`; a dash where there is no number."""
    return "–" if math.isnan(value) else f"{value:z.3f}".replace("-", "−")


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def data(dataset: Mapping[str, Any]) -> str:
    """`digits: 8 × 8 × 1 inputs, 10 classes; 1,293 train, 144 validation and 360 test points`."""
    shape = " × ".join(str(side) for side in dataset.get("shape", ()))
    facts = [
        f"{shape} inputs" if shape else "",
        f"{dataset['classes']} classes" if "classes" in dataset else "",
    ]
    counts = dataset.get("counts", {})
    # dataset.json has its keys sorted; a reader expects the order of use
    ordered = sorted(counts, key=lambda part: ("train", "validation", "test", part).index(part))
    parts = listed([f"{counts[part]:,} {part}" for part in ordered if counts[part]])
    described = "; ".join(filter(None, [", ".join(filter(None, facts)), parts and f"{parts} points"]))
    return f"{dataset.get('name', 'unnamed')}: {described}" if described else str(dataset.get("name", "unnamed"))


def network(model: Model, weights: int | None) -> str:
    """`MLP 128–64, Glorot initialisation, 17,024 weights`."""
    widths = "–".join(str(width) for width in model.widths)
    size = f", {weights:,} weights" if weights else ""
    return f"{model.name.upper()} {widths}, {_INITS.get(model.init, model.init)} initialisation{size}"


def threat(threat: Threat, std: Any) -> str:
    """`ℓ∞, ε = 0.1 pixel, inputs kept in [0, 1]`; standard deviations are also said in pixels."""
    if threat.eps == 0:
        return "none (ε = 0)"
    unit = "pixel" if threat.eps_unit == "pixel" else "standard deviations" + _in_pixels(threat.eps, std)
    kept = "inputs kept in [0, 1]" if threat.clip else "inputs unbounded"
    return f"{_NORMS.get(threat.norm, threat.norm)}, ε = {threat.eps:g} {unit}, {kept}"


def _in_pixels(eps: float, std: Any) -> str:
    channels = std if isinstance(std, list) else [] if std is None else [std]
    sizes = " / ".join(f"{eps * float(channel):.3g}" for channel in channels)
    return f" ({sizes} pixel)" if sizes else ""


def suite(name: str) -> str:
    """`PGD-100`, `AutoAttack`; of other attacks and suites their names."""
    return {"pgd100": "PGD-100", "pgd20": "PGD-20", "autoattack": "AutoAttack", "fgsm": "FGSM"}.get(name, name)


def evaluation(evaluate: Evaluate) -> str:
    """`PGD-100; AutoAttack (apgd-ce, apgd-t, fab-t, square; square with queries 1000)`."""
    said = []
    for name in evaluate.suites:
        attacks = attacks_of(name)
        changes = [
            f"{attack} with {', '.join(f'{key} {value}' for key, value in evaluate.attacks[attack].items())}"
            for attack in attacks
            if evaluate.attacks.get(attack)
        ]
        parts = "; ".join(filter(None, [", ".join(attacks) if attacks != (name,) else "", *changes]))
        said.append(f"{suite(name)} ({parts})" if parts else suite(name))
    return "; ".join(said)


def parameters(params: Params) -> list[tuple[str, str]]:
    """Dotted key and value of every parameter that decides what comes out, those left at their defaults too.

    Folders name a machine, and may not change the report.
    """
    values = effective(params)
    del values["data"]["root"]
    if values["data"]["path"] is not None:
        values["data"]["path"] = PurePath(values["data"]["path"]).name
    return list(dotted(values))


def dotted(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested mappings, each with its dotted key."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from dotted(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
