"""A cell's key: all that decides the result is in it, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from awt.runtime.cell import JAX_SETTINGS, Cell, Source, Surroundings, from_json, to_json

PARAMS = {"method": "awt.tickets.snip:METHOD", "options": {"batch": 64, "attack": {"steps": 10}}, "density": 0.1}
CELL = Cell("mask", "a label", "awt.cells.mask:find_mask", PARAMS, {"data": Source(Path("a"), "00")}, {"seed": 0})
HERE = Surroundings("cpu")


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, function="awt.cells.gram:tile"),
        replace(CELL, params=PARAMS | {"density": 0.2}),
        replace(CELL, params=PARAMS | {"seed": 0}),
        replace(CELL, params=PARAMS | {"options": {"batch": 64, "attack": {"steps": 11}}}),
        replace(CELL, params=PARAMS | {"method": "awt.tickets.grasp:METHOD"}),
        replace(CELL, inputs={"data": Source(Path("a"), "01")}),
        replace(CELL, inputs={"other": Source(Path("a"), "00")}),
    ],
)
def test_what_decides_the_result_changes_the_key(other):
    assert HERE.key(other) != HERE.key(CELL)


@pytest.mark.parametrize(
    "surroundings",
    [
        Surroundings("gpu:A100"),
        replace(HERE, xla_flags="--xla"),
        *(replace(HERE, jax=JAX_SETTINGS | {name: "other"}) for name in JAX_SETTINGS),
    ],
)
def test_the_device_and_numeric_settings_change_the_key(surroundings):
    assert surroundings.key(CELL) != HERE.key(CELL)


def test_threads_change_the_key_on_cpus_alone():
    assert HERE.key(CELL) != HERE.key(CELL, threads=2)
    there = Surroundings("gpu:A100")
    assert there.key(CELL) == there.key(CELL, threads=2)


@pytest.mark.parametrize("part", ["modules", "distributions"])
def test_other_code_and_other_versions_change_the_key(part):
    own = CELL.code.as_json()
    for name in own[part]:
        assert HERE.key(CELL, code=own | {part: own[part] | {name: "other"}}) != HERE.key(CELL, code=own)
    assert HERE.key(CELL, code=own | {"python": "3.0"}) != HERE.key(CELL)
    assert HERE.key(CELL, code=own) == HERE.key(CELL)


def test_code_that_parameters_name_is_the_cell_s():
    assert {"awt.tickets.snip", "awt.cells.mask"} <= CELL.code.modules.keys()
    assert "awt.tickets.grasp" not in CELL.code.modules
    nested = replace(CELL, params={"suites": [{"attack": "awt.attacks.square:Square"}]})
    assert "awt.attacks.square" in nested.code.modules


def test_what_a_cell_is_called_and_where_its_files_are_decides_nothing(tmp_path):
    for same in (
        replace(CELL, label="other"),
        replace(CELL, kind="tile"),
        replace(CELL, tags={"seed": 1, "method": "snip"}),
        replace(CELL, inputs={"data": Source(tmp_path, "00")}),
        replace(CELL, params=dict(reversed(PARAMS.items()))),
    ):
        assert HERE.key(same) == HERE.key(CELL)


def test_a_cell_survives_the_way_through_json():
    back = from_json(to_json(CELL))
    assert HERE.key(back) == HERE.key(CELL)
    assert (back.kind, back.label, back.tags) == (CELL.kind, CELL.label, CELL.tags)
