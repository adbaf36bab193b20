"""What a number is about, and which cells are right behind it."""

import pytest

from awt.artifacts import encode_json, write
from awt.errors import InputError
from awt.lineage.lock import Step
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
        {"key": f"{number:064x}", "label": f"evaluate awt 0.1 seed {seed} {attack} points 0-9"}
        for number, (seed, attack) in enumerate((seed, attack) for seed in (0, 1) for attack in attacks)
    ]
    write(tmp_path / OUTS[0], encode_json(METRICS))
    write(tmp_path / OUTS[1] / "index.json", encode_json({"suites": ATTACKS}))
    write(tmp_path / OUTS[2], b"method,density,seed,natural,adversarial\nawt,0.1,0,0.9,0.5\nawt,0.1,1,0.9,0.5\n")
    write(tmp_path / OUTS[3], encode_json({"stage": "evaluate", "cells": {"cells": cells}}))
    params = {"evaluate.suites": ["pgd100", "autoattack"]}
    steps = {"evaluate": Step("evaluate", "x", {}, {}, params, dict.fromkeys(OUTS, "md5"))}
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
    labels = [f"evaluate awt 0.1 seed {seed} {attack} points 0-9" for seed in seeds for attack in attacks]
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
