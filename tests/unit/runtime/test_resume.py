"""Loops: wherever they are stopped, resumed they end where an undisturbed one does, bit for bit."""

import itertools
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.errors import Interrupted, WorkError
from awt.runtime.context import Context
from awt.runtime.resume import Checkpoints, Loop, run


@jax.jit
def advance(state, epoch, start, stop):
    def step(i, state):
        return {"x": jnp.sin(3 * state["x"] + 0.1 * i + epoch), "steps": state["steps"] + 1}

    return jax.lax.fori_loop(start, stop, step, state)


def close_epoch(state, epoch):
    return state, {"norm": float(jnp.sum(state["x"] ** 2))}


LOOP = Loop(epochs=4, steps_per_epoch=23, advance=advance, close_epoch=close_epoch)
START = {"x": jnp.linspace(0, 1, 5), "steps": jnp.zeros((), jnp.int32)}


def quiet(folder, stop=lambda: False, seconds=3600.0):
    return Context(folder, seconds, lambda lines, progress: stop())


@pytest.fixture
def undisturbed(tmp_path):
    return run(LOOP, START, quiet(tmp_path / "undisturbed"))


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    monkeypatch.setattr("awt.runtime.context.REPORT_SECONDS", 0.0)
    monkeypatch.setattr("awt.runtime.resume.PIECE_SECONDS", 0.0)  # steps one by one, however fast the machine


def same(one, other):
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, one[0], other[0]))) and one[1] == other[1]


def test_every_step_is_done_once(undisturbed):
    state, rows = undisturbed
    assert int(state["steps"]) == 4 * 23
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]


@pytest.mark.parametrize("every", [1, 2, 5])
def test_stopped_again_and_again_equals_undisturbed(tmp_path, undisturbed, every):
    stops = 0
    while True:
        calls = itertools.count(1)
        try:
            result = run(LOOP, START, quiet(tmp_path / "cell", lambda calls=calls: next(calls) >= every))
            break
        except Interrupted:
            stops += 1
    assert stops >= 2
    assert same(result, undisturbed)


def test_the_length_of_pieces_does_not_matter(tmp_path, undisturbed, monkeypatch):
    monkeypatch.setattr("awt.runtime.resume.PIECE_SECONDS", 1e3)
    assert same(run(LOOP, START, quiet(tmp_path / "cell")), undisturbed)


def test_a_damaged_checkpoint_gives_way_to_an_older_one(tmp_path, undisturbed):
    folder = tmp_path / "cell"
    calls = itertools.count(1)
    with pytest.raises(Interrupted):
        run(LOOP, START, quiet(folder, lambda: next(calls) >= 6, seconds=0))
    steps = sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    assert len(steps) == 2
    shutil.rmtree(folder / str(steps[-1]) / "state")
    context = quiet(folder)
    said = []
    context.report = lambda lines, progress: said.extend(lines)
    assert same(run(LOOP, START, context), undisturbed)
    context.flush()
    assert any(f"resumed at step {steps[0]}" in line for line in said)


def test_all_checkpoints_damaged_means_from_the_start(tmp_path, undisturbed):
    folder = tmp_path / "cell"
    calls = itertools.count(1)
    with pytest.raises(Interrupted):
        run(LOOP, START, quiet(folder, lambda: next(calls) >= 3))
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size:
            path.write_bytes(b"damaged")
    assert same(run(LOOP, START, quiet(folder)), undisturbed)


def test_divergence_is_an_error(tmp_path):
    bad = Loop(1, 2, advance, lambda state, epoch: (state, {"loss": float("nan")}))
    with pytest.raises(WorkError, match="loss is nan after epoch 1"):
        run(bad, START, quiet(tmp_path / "cell"))


def test_a_disk_without_room_is_noticed_before_it_is_full(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(OSError, match="No space left"), Checkpoints(tmp_path / "cell") as checkpoints:
        checkpoints.save(1, START, [])


def test_a_checkpoint_that_was_changed_is_not_resumed_from(tmp_path, undisturbed):
    folder = tmp_path / "checkpoints"
    steps = itertools.count()
    with pytest.raises(Interrupted):
        run(LOOP, START, quiet(folder, lambda: next(steps) >= 30, seconds=0.0))
    newest = max((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    largest = max((path for path in newest.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    lines = []
    context = Context(folder, 3600.0, lambda new, progress: lines.extend(new))
    assert same(run(LOOP, START, context), undisturbed)
    assert any(f"checkpoint {newest.name} is unreadable" in line for line in lines)
