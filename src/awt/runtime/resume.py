"""Long loops that survive a kill: steps run in time-sized pieces, checkpointed with orbax, resumed exactly.

The result does not depend on where the pieces end: `advance` takes the range of steps as ordinary (traced) values,
so that one compiled program runs pieces of any length.
"""

import errno
import logging
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from awt.errors import InputError, Interrupted, WorkError, is_disk_full
from awt.runtime import seals
from awt.runtime.context import Context
from awt.runtime.courier import Courier

logging.getLogger("absl").setLevel(logging.CRITICAL)  # orbax's threads log what `save` raises anyway

CHECKPOINT_OVERHEAD = 2**17  # bytes of a checkpoint beside its arrays, generously
PIECE_SECONDS = 1.0  # a stop is answered, and progress shown, about this often

Row = dict[str, float]


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


def run(loop: Loop, state: Any, context: Context) -> tuple[Any, list[Row]]:
    """Runs a loop to its end, from its newest checkpoint if there is one; returns the state and a row an epoch."""
    total = loop.epochs * loop.steps_per_epoch
    rows: list[Row] = []
    with Checkpoints(context.checkpoints, context.courier) as checkpoints:
        step, state, rows = checkpoints.restore(state, context)
        saved = time.monotonic()
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
                context.log(" ".join(f"{name}={value:.6g}" for name, value in rows[-1].items()))
            context.progress(step, total, **(rows[-1] if rows else {}))
            if context.stop_requested():
                kept = checkpoints.save(step, state, rows)
                raise Interrupted(f"stopped {'and checkpointed ' if kept else ''}at step {step} of {total}")
            if time.monotonic() - saved >= context.checkpoint_seconds and step < total:
                checkpoints.save(step, state, rows)
                saved = time.monotonic()
    return state, rows


def _next_piece(steps: int, seconds: float, piece: int) -> int:
    """Steps worth about PIECE_SECONDS, growing at most fourfold at a time (the first piece also compiles)."""
    wanted = math.ceil(PIECE_SECONDS * steps / max(seconds, 1e-6))
    return max(1, min(wanted, 4 * piece))


def _check_finite(row: Row, epoch: int) -> None:
    for name, value in row.items():
        if math.isinf(value) or (math.isnan(value) and not name.startswith("validation")):
            raise WorkError(f"{name} is {value} after epoch {epoch + 1}: the run diverged; lower its learning rate")


class Checkpoints:
    """Orbax checkpoints of one cell: the state's arrays and the rows so far, by step."""

    def __init__(self, folder: Path, courier: Courier | None = None) -> None:
        self._folder = folder.absolute()
        self._courier = courier
        self._manager: ocp.CheckpointManager | None = None

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        if self._manager is not None:
            self._manager.close()

    def save(self, step: int, state: Any, rows: list[Row]) -> bool:
        """Whether a checkpoint was made. One that fails for other reasons than a full disk (another run writes to the
        same folder, say) costs nothing but the checkpoint."""
        self._check_room(state)
        args = ocp.args.Composite(state=ocp.args.StandardSave(state), rows=ocp.args.JsonSave(rows))
        try:
            made = bool(self._open().save(step, args=args, force=True))
            self._open().wait_until_finished()
            if made:
                seals.seal(self._folder, step)
                if self._courier is not None:
                    self._courier.send(self._folder, step)
        except Exception as error:
            if is_disk_full(error):
                raise OSError(errno.ENOSPC, "No space left on device", str(self._folder)) from error
            return False
        return made

    def _check_room(self, state: Any) -> None:
        """Orbax fills a disk to the last byte, from several threads, before it fails: look first."""
        self._folder.mkdir(parents=True, exist_ok=True)
        needed = sum(array.nbytes for array in jax.tree.leaves(state)) + CHECKPOINT_OVERHEAD
        if shutil.disk_usage(self._folder).free < needed:
            raise OSError(errno.ENOSPC, "No space left on device", str(self._folder))

    def restore(self, state: Any, context: Context) -> tuple[int, Any, list[Row]]:
        """The newest checkpoint that can be read, or step 0 and the state given."""
        if self._courier is not None and (brought := self._courier.bring(self._folder)):
            context.log(brought)
        if not self._folder.exists():
            return 0, state, []
        template = jax.tree.map(ocp.utils.to_shape_dtype_struct, state)
        args = ocp.args.Composite(state=ocp.args.StandardRestore(template), rows=ocp.args.JsonRestore())
        for step in sorted(self._open().all_steps(), reverse=True):
            try:
                if seals.is_broken(self._folder, step):
                    raise ValueError("not what was written")
                found = self._open().restore(step, args=args)
            except Exception as error:
                context.log(f"checkpoint {step} is unreadable ({type(error).__name__}), trying an older one")
                shutil.rmtree(self._folder / str(step), ignore_errors=True)
                self._open().reload()
                continue
            context.log(f"resumed at step {step}")
            return step, found.state, found.rows
        return 0, state, []

    def _open(self) -> ocp.CheckpointManager:
        if self._manager is None:
            options = ocp.CheckpointManagerOptions(max_to_keep=2, create=True, enable_async_checkpointing=False)
            self._manager = ocp.CheckpointManager(self._folder, options=options)
        return self._manager


def read_part(state: Path, template: Any) -> Any:
    """The arrays that a template names of the state in a checkpoint's folder, as numpy's; nothing need be known of the
    rest, and none of it is read."""
    leaves, shape = jax.tree.flatten_with_path(template)
    try:
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as reader:
            found = [_read_leaf(reader, state, path, leaf) for path, leaf in leaves]
    except Exception as error:  # orbax and tensorstore have no common one
        raise InputError(f"not a readable checkpoint ({type(error).__name__})") from None
    return jax.tree.unflatten(shape, found)


def _read_leaf(reader: ocp.Checkpointer, state: Path, path: tuple[Any, ...], leaf: Any) -> np.ndarray:
    """One array: of several read at once that cannot be, all but one would complain behind the caller's back."""
    item, kind = leaf, ocp.RestoreArgs(restore_type=np.ndarray)
    for part in reversed(path):
        item, kind = {part.key: item}, {part.key: kind}
    args = ocp.args.PyTreeRestore(item=item, restore_args=kind, partial_restore=True)
    return np.asarray(jax.tree.leaves(reader.restore(state, args=args))[0])
