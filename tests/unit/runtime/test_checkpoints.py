"""Checkpoints: a loop resumed from them ends where an undisturbed one does, bit for bit; damaged ones are seen."""

import itertools
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.errors import Interrupted
from awt.loop import Loop, run
from awt.runtime.checkpoints import Checkpoints
from awt.runtime.context import Context


@jax.jit
def advance(state, epoch, start, stop):
    def step(i, state):
        return {"x": jnp.sin(3 * state["x"] + 0.1 * i + epoch), "steps": state["steps"] + 1}

    return jax.lax.fori_loop(start, stop, step, state)


def close_epoch(state, epoch):
    return state, {"norm": float(jnp.sum(state["x"] ** 2))}


LOOP = Loop(epochs=4, steps_per_epoch=23, advance=advance, close_epoch=close_epoch)
START = {"x": jnp.linspace(0, 1, 5), "steps": jnp.zeros((), jnp.int32)}


def run_until(looks, folder, seconds=3600.0, loop=LOOP, start=START):
    """Runs a loop whose checkpoints are in a folder until it was looked at so often; returns also what it logged."""
    count, lines = itertools.count(1), []

    def report(new, progress):
        lines.extend(new)
        return next(count) >= looks

    context = Context(folder, seconds, report)
    try:
        return run(loop, start, context), lines
    finally:
        context.flush()
        context.close()


def resumed(folder, loop=LOOP, start=START):
    return run_until(float("inf"), folder, loop=loop, start=start)


@pytest.fixture
def undisturbed():
    return run(LOOP, START)


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    monkeypatch.setattr("awt.runtime.context.REPORT_SECONDS", 0.0)
    monkeypatch.setattr("awt.loop.PIECE_SECONDS", 0.0)  # steps one by one, however fast the machine


def same(one, other):
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, one[0], other[0]))) and one[1] == other[1]


def steps_in(folder):
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


@pytest.mark.parametrize("every", [1, 2, 5])
def test_stopped_again_and_again_equals_undisturbed(tmp_path, undisturbed, every):
    stops = 0
    while True:
        try:
            result, _ = run_until(every, tmp_path / "cell")
            break
        except Interrupted:
            stops += 1
    assert stops >= 2
    assert same(result, undisturbed)


def test_a_damaged_checkpoint_gives_way_to_an_older_one(tmp_path, undisturbed):
    folder = tmp_path / "cell"
    with pytest.raises(Interrupted):
        run_until(6, folder, seconds=0)
    steps = steps_in(folder)
    assert len(steps) == 2
    shutil.rmtree(folder / str(steps[-1]) / "state")
    result, lines = resumed(folder)
    assert same(result, undisturbed)
    assert any(f"resumed at step {steps[0]}" in line for line in lines)


def test_all_checkpoints_damaged_means_from_the_start(tmp_path, undisturbed):
    folder = tmp_path / "cell"
    with pytest.raises(Interrupted):
        run_until(3, folder)
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size:
            path.write_bytes(b"damaged")
    assert same(resumed(folder)[0], undisturbed)


def test_a_checkpoint_that_was_changed_is_not_resumed_from(tmp_path, undisturbed):
    folder = tmp_path / "checkpoints"
    with pytest.raises(Interrupted):
        run_until(31, folder, seconds=0.0)
    newest = folder / str(steps_in(folder)[-1])
    largest = max((path for path in newest.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    result, lines = resumed(folder)
    assert same(result, undisturbed)
    assert any(f"checkpoint {newest.name} is unreadable" in line for line in lines)


def test_a_state_that_is_a_single_array_is_kept_too(tmp_path):
    """As a workflow's own loop may have it."""
    count = jax.jit(lambda state, epoch, start, stop: state + (stop - start))
    alone = Loop(3, 7, count, lambda state, epoch: (state, {}))
    with pytest.raises(Interrupted):
        run_until(3, tmp_path / "cell", loop=alone, start=jnp.zeros(()))
    (state, _), lines = resumed(tmp_path / "cell", loop=alone, start=jnp.zeros(()))
    assert float(state) == 21
    assert any("resumed at step" in line for line in lines)


def test_a_disk_without_room_is_noticed_before_it_is_full(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(OSError, match="No space left"):
        Checkpoints(tmp_path / "cell").save(1, START, [], print)


def test_a_checkpoint_that_cannot_be_made_costs_nothing_else(tmp_path, undisturbed):
    """Rows that JSON cannot say, as a user's loop may have them."""
    lines = []
    checkpoints = Checkpoints(tmp_path / "cell")
    assert not checkpoints.save(1, START, [{"loss": object()}], lines.append)
    checkpoints.close()
    assert "no checkpoint could be made at step 1" in lines[0]
