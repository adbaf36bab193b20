"""Long loops of steps on arrays, in pieces: resumed exactly where someone keeps checkpoints, stopped when asked.

The result does not depend on where the pieces end: `advance` takes the range of steps as ordinary (traced) values,
so that one compiled program runs pieces of any length.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from awt.errors import Interrupted, WorkError

PIECE_SECONDS = 1.0  # a stop is answered, and progress shown, about this often

Row = dict[str, float]


class Watch(Protocol):
    """What a long computation asks of whoever runs it: to keep checkpoints, to show progress, to say when to stop."""

    def log(self, text: str) -> None:
        """Notes a line."""

    def progress(self, done: int, total: int, **metrics: float) -> None:
        """Takes note of how far the work is."""

    def stop_requested(self) -> bool:
        """Whether the work should be checkpointed and ended."""
        ...

    def check_stop(self) -> None:
        """For work without checkpoints: raises Interrupted if a stop was asked for."""

    def restore(self, state: Any) -> tuple[int, Any, list[Row]]:
        """The newest checkpoint: its step, state and rows; or step 0 and the state given."""
        ...

    def save(self, step: int, state: Any, rows: list[Row], *, now: bool = False) -> bool:
        """Makes a checkpoint if one is due, or in any case `now`; whether it did."""
        ...


class Unwatched:
    """For work that nobody watches: nothing is kept, shown or stopped."""

    def log(self, text: str) -> None:
        return

    def progress(self, done: int, total: int, **metrics: float) -> None:
        return

    def stop_requested(self) -> bool:
        return False

    def check_stop(self) -> None:
        return

    def restore(self, state: Any) -> tuple[int, Any, list[Row]]:
        return 0, state, []

    def save(self, step: int, state: Any, rows: list[Row], *, now: bool = False) -> bool:
        return False


UNWATCHED: Watch = Unwatched()


@dataclass(frozen=True)
class Loop:
    """Epochs of steps on a state (a pytree of arrays).

    `advance(state, epoch, start, stop)` does steps start..stop of an epoch; `close_epoch(state, epoch)` returns the
    state that the next epoch starts with and a row of the epoch's figures.
    """

    epochs: int
    steps_per_epoch: int
    advance: Callable[[Any, int, int, int], Any]
    close_epoch: Callable[[Any, int], tuple[Any, Row]]


def run(loop: Loop, state: Any, watch: Watch = UNWATCHED) -> tuple[Any, list[Row]]:
    """Runs a loop to its end, from its newest checkpoint if there is one; returns the state and a row an epoch."""
    total = loop.epochs * loop.steps_per_epoch
    step, state, rows = watch.restore(state)
    piece = min(8, loop.steps_per_epoch)
    while step < total:
        epoch, start = divmod(step, loop.steps_per_epoch)
        stop = min(start + piece, loop.steps_per_epoch)
        began = time.monotonic()
        state = loop.advance(state, epoch, start, stop)
        jax.block_until_ready(state)  # type: ignore[no-untyped-call]
        piece = _next_piece(stop - start, time.monotonic() - began, piece)
        step += stop - start
        if stop == loop.steps_per_epoch:
            state, row = loop.close_epoch(state, epoch)
            _check_finite(row, epoch)
            rows.append({"epoch": epoch + 1, **row})
            watch.log(" ".join(f"{name}={value:.6g}" for name, value in rows[-1].items()))
        watch.progress(step, total, **(rows[-1] if rows else {}))
        if watch.stop_requested():
            kept = watch.save(step, state, rows, now=True)
            raise Interrupted(f"stopped {'and checkpointed ' if kept else ''}at step {step} of {total}")
        if step < total:
            watch.save(step, state, rows)
    return state, rows


def _next_piece(steps: int, seconds: float, piece: int) -> int:
    """Steps worth about PIECE_SECONDS, growing at most fourfold at a time (the first piece also compiles)."""
    wanted = math.ceil(PIECE_SECONDS * steps / max(seconds, 1e-6))
    return max(1, min(wanted, 4 * piece))


def _check_finite(row: Row, epoch: int) -> None:
    for name, value in row.items():
        if math.isinf(value) or (math.isnan(value) and not name.startswith("validation")):
            raise WorkError(f"{name} is {value} after epoch {epoch + 1}: the run diverged; lower its learning rate")
