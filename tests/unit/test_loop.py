"""Loops: every step is done once, and wherever they are stopped, resumed they end where an undisturbed one does."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.errors import Interrupted, WorkError
from awt.loop import UNWATCHED, Loop, Unwatched, run


@jax.jit
def advance(state, epoch, start, stop):
    def step(i, state):
        return {"x": jnp.sin(3 * state["x"] + 0.1 * i + epoch), "steps": state["steps"] + 1}

    return jax.lax.fori_loop(start, stop, step, state)


def close_epoch(state, epoch):
    return state, {"norm": float(jnp.sum(state["x"] ** 2))}


LOOP = Loop(epochs=4, steps_per_epoch=23, advance=advance, close_epoch=close_epoch)
START = {"x": jnp.linspace(0, 1, 5), "steps": jnp.zeros((), jnp.int32)}


class Remembering(Unwatched):
    """Keeps its last checkpoint in memory, and asks for a stop at every so many looks."""

    def __init__(self, every=math.inf):
        self.every, self.looks, self.kept, self.lines, self.seen = every, itertools.count(1), None, [], []

    def log(self, text):
        self.lines.append(text)

    def progress(self, done, total, **metrics):
        self.seen.append((done, total))

    def stop_requested(self):
        return next(self.looks) % self.every == 0

    def restore(self, state):
        return (0, state, []) if self.kept is None else self.kept

    def save(self, step, state, rows, *, now=False):
        self.kept = step, state, list(rows)
        return True


@pytest.fixture
def undisturbed():
    return run(LOOP, START)


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    monkeypatch.setattr("awt.loop.PIECE_SECONDS", 0.0)  # steps one by one, however fast the machine


def same(one, other):
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, one[0], other[0]))) and one[1] == other[1]


def test_every_step_is_done_once(undisturbed):
    state, rows = undisturbed
    assert int(state["steps"]) == 4 * 23
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]


@pytest.mark.parametrize("every", [1, 2, 5, 23])
def test_stopped_again_and_again_equals_undisturbed(undisturbed, every):
    watch, stops = Remembering(every), 0
    while True:
        try:
            result = run(LOOP, START, watch)
            break
        except Interrupted as stopped:
            stops += 1
            said = str(stopped), f"stopped and checkpointed at step {watch.kept[0]} of 92"
    assert stops >= 2
    assert said[0] == said[1]
    assert same(result, undisturbed)


def test_without_checkpoints_a_stop_says_so():
    watch = Remembering(1)
    watch.save = UNWATCHED.save
    with pytest.raises(Interrupted, match=r"^stopped at step 8 of 92$"):
        run(LOOP, START, watch)


def test_the_length_of_pieces_does_not_matter(undisturbed, monkeypatch):
    monkeypatch.setattr("awt.loop.PIECE_SECONDS", 1e3)
    assert same(run(LOOP, START), undisturbed)


def test_a_watch_sees_how_far_it_is_and_a_line_an_epoch():
    watch = Remembering()
    _, rows = run(LOOP, START, watch)
    assert [done for done, _ in watch.seen] == sorted({done for done, _ in watch.seen})
    assert watch.seen[-1] == (92, 92)
    assert watch.lines == [f"epoch={row['epoch']} norm={row['norm']:.6g}" for row in rows]
    assert watch.kept[0] < 92  # at the end there is nothing to come back to


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_divergence_is_an_error(value):
    bad = Loop(1, 2, advance, lambda state, epoch: (state, {"loss": float(value)}))
    with pytest.raises(WorkError, match=f"loss is {value} after epoch 1: the run diverged"):
        run(bad, START)


def test_figures_of_points_that_are_not_there_are_no_divergence():
    bare = Loop(1, 2, advance, lambda state, epoch: (state, {"validation_natural": float("nan")}))
    assert math.isnan(run(bare, START)[1][0]["validation_natural"])
