"""What a number is about, and which cells are right behind it."""

import pytest

from awt.artifacts import encode_json, write
from awt.errors import InputError
from awt.lineage.pipeline import Step
from awt.lineage.snapshot import Snapshot
from awt.lineage.targets import find
from awt.runtime.store import Store

METRICS = {"table": {"awt": {"0.1": {"natural": 0.9, "adversarial": 0.5, "autoattack": 0.4}}}}
ATTACKS = {"autoattack": ["apgd-ce", "square"], "pgd100": ["pgd100"]}  # sorted, as files have them
OUTS = (
    "artifacts/metrics.json",
    "artifacts/evaluation",
    "artifacts/plots/results.csv",
    "artifacts/records/evaluate.json",
)


@pytest.fixture
def ask(tmp_path, monkeypatch):
    attacks = [attack for suite in ATTACKS.values() for attack in suite]
    cells = [
        {
            "key": f"{number:064x}",
            "label": f"evaluate awt-0.1-seed{seed} {attack}",
            "tags": {"method": "awt", "density": 0.1, "seed": seed, "attack": attack, "points": [0, 9]},
        }
        for number, (seed, attack) in enumerate((seed, attack) for seed in (0, 1) for attack in attacks)
    ]
    write(tmp_path / OUTS[0], encode_json(METRICS))
    write(tmp_path / OUTS[1] / "index.json", encode_json({"suites": ATTACKS}))
    rows = [
        "method,density,seed,natural,adversarial,autoattack,points",
        *(f"awt,0.1,{seed},0.9,0.5,0.4,9" for seed in (0, 1)),
    ]
    write(tmp_path / OUTS[2], "\n".join(rows).encode())
    write(tmp_path / OUTS[3], encode_json({"stage": "evaluate", "cells": {"cells": cells}}))
    steps = {"evaluate": Step("evaluate", "x", None, {}, {}, dict.fromkeys(OUTS, "md5"))}
    monkeypatch.setattr("awt.lineage.targets.take", lambda *where: Snapshot(tmp_path, ".", None, steps))
    store = Store(tmp_path / "store")
    return lambda text: find(text, tmp_path, tmp_path, lambda folder: store)


@pytest.mark.parametrize(
    ("target", "value", "seeds", "attacks"),
    [
        ("metrics.json:table.awt.0.1.adversarial", 0.5, (0, 1), ["pgd100"]),
        ("metrics.json:table.awt.0.1.natural", 0.9, (0, 1), ["pgd100"]),
        ("metrics.json:table.awt.0.1.autoattack", 0.4, (0, 1), ["apgd-ce", "square"]),
        ("results.csv:awt.0.1.1.adversarial", 0.5, (1,), ["pgd100"]),
    ],
)
def test_numbers(ask, target, value, seeds, attacks):
    found = ask(target)
    assert found.value == value
    labels = [f"evaluate awt-0.1-seed{seed} {attack}" for seed in seeds for attack in attacks]
    assert [one.label for one in found.nearest] == labels


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("metrics.json:table.awt.0.10.natural", "there is: 0.1"),
        ("metrics.json:table.awt.0.1.natural.x", "nothing below"),
        ("results.csv:awt.0.1.2.natural", "there is: 0, 1"),
        ("evaluate awt", "is no number"),
        ("0000", "is not one cell but 6"),
        ("records/evaluate.json:cells.cells", "is not one number"),
    ],
)
def test_mistakes(ask, target, message):
    with pytest.raises(InputError, match=message):
        ask(target)


@pytest.fixture
def ask_of_others(tmp_path, monkeypatch):
    """Of a workflow whose cells are about other things than tickets."""
    cells = [
        {"key": f"{width}{depth}" * 32, "label": f"fit {width} {depth}", "tags": {"width": width, "depth": depth}}
        for width in (3, 4)
        for depth in (0.5, 1.0)
    ]
    files = {
        "out/scores.json": encode_json({"error": {"3": {"0.5": 1, "1": 2}, "4": {"0.5": 3, "1": 4}}, "best": 1}),
        "out/table.csv": b"width,error\n3,0.1\n4,0.2\n",
        "out/curve.csv": b"loss\n0.5\n0.25\n",
        "artifacts/records/fit.json": encode_json({"stage": "fit", "cells": {"cells": cells}}),
    }
    for path, content in files.items():
        write(tmp_path / path, content)
    steps = {"fit": Step("fit", "x", None, {}, {}, dict.fromkeys(files, "md5"))}
    monkeypatch.setattr("awt.lineage.targets.take", lambda *where: Snapshot(tmp_path, ".", None, steps))
    store = Store(tmp_path / "store")
    return lambda text: find(text, tmp_path, tmp_path, lambda folder: store)


@pytest.mark.parametrize(
    ("target", "value", "labels"),
    [
        ("out/scores.json:error.3.1", 2, ["fit 3 1.0"]),
        ("out/table.csv:4.error", 0.2, ["fit 4 0.5", "fit 4 1.0"]),
        ("out/scores.json:best", 1, ["fit 3 0.5", "fit 3 1.0", "fit 4 0.5", "fit 4 1.0"]),
        ("out/curve.csv:2.loss", 0.25, ["fit 3 0.5", "fit 3 1.0", "fit 4 0.5", "fit 4 1.0"]),
    ],
)
def test_numbers_of_another_workflow(ask_of_others, target, value, labels):
    asked = ask_of_others(target)
    assert asked.value == value
    assert [one.label for one in asked.nearest] == labels
