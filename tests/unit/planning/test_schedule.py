"""Cells over workers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awt.planning.schedule import Job, Workers, slots
from awt.runtime.machines import Machine
from awt.runtime.options import Resources


def jobs(*seconds):
    return [Job(one) for one in seconds]


def test_cells_one_after_the_other():
    assert Workers(1).wall(jobs(1, 2, 3)) == 6


def test_cells_side_by_side():
    assert Workers(2).wall(jobs(1, 1, 1)) == 2
    assert Workers(2).wall(jobs(4, 1, 1, 1)) == 4
    assert Workers(8).wall(jobs(1, 5)) == 5
    assert Workers(3).wall([]) == 0


def test_a_worker_compiles_a_program_once():
    workers = Workers(2, compile_seconds=10)
    assert workers.wall([Job(1, ("a",))] * 4) == 10 + 2
    assert workers.wall([Job(1, ("a",))] * 2) == 1
    assert workers.wall([Job(1, ("a", "b"))]) == 11


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(1, 9))
def test_between_the_bounds(seconds, number):
    found = Workers(number).wall(jobs(*seconds))
    assert found >= max(seconds) - 1e-9
    assert found >= sum(seconds) / number - 1e-9
    assert found <= sum(seconds) / number + max(seconds) + 1e-9


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        ({}, 8 + 2),
        ({"cpus": 2}, 4 + 1),
        ({"cpus": 3}, 2),
        ({"gpus": 1}, 2),
        ({"gpus": 0.5}, 4),
        ({"memory_gb": 3}, 5),
        ({"cpus": 16}, 0),
    ],
)
def test_slots(wanted, number):
    machines = [Machine(8, 2, 16 * 2**30), Machine(2, 0, 2 * 2**30)]
    assert slots(machines, Resources(**wanted)) == number
