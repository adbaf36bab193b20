"""A cell's key: all that decides the result is in it, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from awt.runtime.cell import Cell, Source, Surroundings, fingerprint, from_json, to_json

CELL = Cell("mask", "a label", "awt.tickets.find:find_mask", {"density": 0.1}, {"data": Source(Path("a"), "00")})
HERE = Surroundings("code", "cpu")


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, kind="tile"),
        replace(CELL, function="awt.kernels.gram:tile"),
        replace(CELL, params={"density": 0.2}),
        replace(CELL, params={"density": 0.1, "seed": 0}),
        replace(CELL, inputs={"data": Source(Path("a"), "01")}),
        replace(CELL, inputs={"other": Source(Path("a"), "00")}),
    ],
)
def test_what_decides_the_result_changes_the_key(other):
    assert HERE.key(other) != HERE.key(CELL)


def test_code_and_device_change_the_key():
    assert (
        len({HERE.key(CELL), Surroundings("other", "cpu").key(CELL), Surroundings("code", "gpu:A100").key(CELL)}) == 3
    )


def test_threads_and_flags_change_the_key():
    assert len({HERE.key(CELL), HERE.key(CELL, threads=2), replace(HERE, xla_flags="--xla").key(CELL)}) == 3
    there = Surroundings("code", "gpu:A100")
    assert there.key(CELL) == there.key(CELL, threads=2)


def test_versions_change_the_key(monkeypatch):
    before = HERE.key(CELL)
    monkeypatch.setattr("awt.runtime.cell.numeric_versions", lambda: {"jax": "0.0.1"})
    assert HERE.key(CELL) != before


def test_labels_and_places_do_not(tmp_path):
    assert HERE.key(replace(CELL, label="other")) == HERE.key(CELL)
    assert HERE.key(replace(CELL, inputs={"data": Source(tmp_path, "00")})) == HERE.key(CELL)


def test_a_cell_survives_the_way_through_json():
    back = from_json(to_json(CELL))
    assert HERE.key(back) == HERE.key(CELL)
    assert back.label == CELL.label


def test_a_fingerprint_sees_content_and_names(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    file = package / "a.py"
    file.write_text("1")
    seen = {fingerprint([package])}
    file.write_text("2")
    seen.add(fingerprint([package]))
    file.rename(package / "b.py")
    seen.add(fingerprint([package]))
    (package / "c.py").write_text("")
    seen.add(fingerprint([package]))
    assert len(seen) == 4
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "b.pyc").write_text("")
    assert fingerprint([package]) in seen
