"""Checkpoints of long computations: written by orbax, sealed by digests, read back exactly."""

import errno
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp

from awt.errors import is_disk_full
from awt.loop import Row
from awt.runtime import seals
from awt.runtime.courier import Courier

logging.getLogger("absl").setLevel(logging.CRITICAL)  # orbax's threads log what `save` raises anyway

CHECKPOINT_OVERHEAD = 2**17  # bytes of a checkpoint beside its arrays, generously
_ALONE = "array"  # the name of a state that is a single array


class Checkpoints:
    """Orbax checkpoints of one cell: the state's arrays and the rows so far, by step."""

    def __init__(self, folder: Path, courier: Courier | None = None) -> None:
        self._folder = folder.absolute()
        self._courier = courier
        self._manager: ocp.CheckpointManager | None = None

    def close(self) -> None:
        if self._manager is not None:
            self._manager.close()

    def save(self, step: int, state: Any, rows: list[Row], log: Callable[[str], None]) -> bool:
        """Whether a checkpoint was made. One that fails for other reasons than a full disk (another run writes to the
        same folder, say) costs nothing but the checkpoint."""
        self._check_room(state)
        state = _as_tree(state)
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
            log(f"no checkpoint could be made at step {step} ({type(error).__name__}: {error})")
            return False
        return made

    def _check_room(self, state: Any) -> None:
        """Orbax fills a disk to the last byte, from several threads, before it fails: look first."""
        self._folder.mkdir(parents=True, exist_ok=True)
        needed = sum(array.nbytes for array in jax.tree.leaves(state)) + CHECKPOINT_OVERHEAD
        if shutil.disk_usage(self._folder).free < needed:
            raise OSError(errno.ENOSPC, "No space left on device", str(self._folder))

    def restore(self, state: Any, log: Callable[[str], None]) -> tuple[int, Any, list[Row]]:
        """The newest checkpoint that can be read, or step 0 and the state given."""
        if self._courier is not None and (brought := self._courier.bring(self._folder)):
            log(brought)
        if not self._folder.exists():
            return 0, state, []
        template = jax.tree.map(ocp.utils.to_shape_dtype_struct, _as_tree(state))
        args = ocp.args.Composite(state=ocp.args.StandardRestore(template), rows=ocp.args.JsonRestore())
        for step in sorted(self._open().all_steps(), reverse=True):
            try:
                if seals.is_broken(self._folder, step):
                    raise ValueError("not what was written")
                found = self._open().restore(step, args=args)
            except Exception as error:
                log(f"checkpoint {step} is unreadable ({type(error).__name__}), trying an older one")
                shutil.rmtree(self._folder / str(step), ignore_errors=True)
                self._open().reload()
                continue
            log(f"resumed at step {step}")
            return step, found.state if _as_tree(state) is state else found.state[_ALONE], found.rows
        return 0, state, []

    def _open(self) -> ocp.CheckpointManager:
        if self._manager is None:
            options = ocp.CheckpointManagerOptions(max_to_keep=2, create=True, enable_async_checkpointing=False)
            self._manager = ocp.CheckpointManager(self._folder, options=options)
        return self._manager


def _as_tree(state: Any) -> Any:
    """Orbax saves trees: a single array becomes one."""
    return {_ALONE: state} if jax.tree_util.all_leaves([state]) else state
