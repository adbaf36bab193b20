"""Running one cell in the process at hand, whichever executor that belongs to."""

import os
import shutil
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from awt.artifacts import Buffer, sha256
from awt.errors import AwtError, InputError, Interrupted, WorkError, is_disk_full
from awt.loading import load
from awt.runtime import code, memory
from awt.runtime.cell import JAX_SETTINGS
from awt.runtime.context import Context, Report
from awt.runtime.cores import available, pin
from awt.runtime.courier import Courier
from awt.runtime.device import processor

WHOLE_GPU = "0.90"  # of its memory, for a cell that has it alone: some is left for the driver and the libraries

Failure = Literal["input", "work", "disk", "interrupted", "fault", "lost", "memory"]
"""The last two: its worker is gone, and went for want of memory."""


@dataclass(frozen=True)
class Task:
    """A cell as it is sent to a worker: everything but the inputs' bytes."""

    key: str
    label: str
    function: str
    params: dict[str, Any]
    digests: dict[str, str]
    platform: str
    checkpoints: str  # a folder; of this node's own if none is named
    store_url: str  # where checkpoints travel, if the store has one
    checkpoint_seconds: float
    threads: int
    gpus: float
    xla_flags: str
    functions: frozenset[str]
    code: Mapping[str, Any]  # behind them, as the driver has it
    folders: tuple[str, ...] = ()  # of the user's own modules


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: its files, or how it failed."""

    files: Mapping[str, Buffer] = field(default_factory=dict)
    failure: Failure | None = None
    message: str = ""
    trace: str = ""
    seconds: float = 0.0
    host: str = ""
    device: str = ""
    node: str = ""  # of a cluster, as a person calls it

    def error(self, label: str) -> AwtError:
        kind = InputError if self.failure == "input" else WorkError
        return kind(f"cell {label}: {self.message}")


def execute(task: Task, inputs: Mapping[str, Buffer], report: Report) -> Outcome:
    """Runs a cell and returns its outcome; never raises, so that nothing but plain data travels back."""
    started = time.monotonic()
    checkpoints = Path(task.checkpoints) if task.checkpoints else _scratch() / task.key / "checkpoints"
    context = Context(checkpoints, task.checkpoint_seconds, report)
    device = ""
    with context.stop.catching():
        try:
            context.log(f"start {task.label} on {socket.gethostname()} (pid {os.getpid()})")
            context.flush()
            context.check_stop()
            _add_folders(task.folders)
            code.check(task.code, task.functions)
            _verify(task, inputs)
            if task.store_url:
                context.courier = Courier(task.store_url, task.key)
            device = _prepare_device(task)
            context.log(f"computing on {device} with {available()} cores")
            files = _function(task.function)(task.params, inputs, context)
            outcome = Outcome(files=files)
        except Interrupted as error:
            outcome = Outcome(failure="interrupted", message=str(error))
        except InputError as error:
            outcome = Outcome(failure="input", message=str(error))
        except AwtError as error:
            outcome = Outcome(failure="work", message=str(error))
        except Exception as error:
            failure: Failure = "disk" if is_disk_full(error) else "fault"
            outcome = Outcome(failure=failure, message=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        context.close()
        is_finished = outcome.failure is None
        if context.courier is not None and (trouble := context.courier.close(is_finished)):
            context.log(trouble)
        if is_finished and not task.checkpoints:
            shutil.rmtree(checkpoints.parent, ignore_errors=True)
        seconds = time.monotonic() - started
        context.log(f"{outcome.failure or 'done'} after {seconds:.1f} s {outcome.message}\n{outcome.trace}".rstrip())
        context.flush()
    return Outcome(
        outcome.files, outcome.failure, outcome.message, outcome.trace, seconds, socket.gethostname(), device
    )


def _scratch() -> Path:
    """A folder of this node's own, for checkpoints on their way to the store's URL."""
    folder = Path(tempfile.gettempdir()) / f"awt-checkpoints-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _verify(task: Task, inputs: Mapping[str, Buffer]) -> None:
    for name, digest in task.digests.items():
        if sha256(inputs[name]) != digest:
            raise WorkError(f"input {name} is no longer what the cell was described with; run `dvc repro` again")


def _prepare_device(task: Task) -> str:
    """Makes sure that JAX computes here as the key says: same kind of device, threads and settings."""
    backend = task.platform.split(":")[0]
    os.environ["XLA_FLAGS"] = task.xla_flags
    if backend == "cpu":
        pin(task.threads)
        memory.keep()
        os.environ["JAX_PLATFORMS"] = "cpu"
    else:
        _share_gpu(task.gpus)
    import jax

    # whatever this machine's environment says of them
    for name, value in JAX_SETTINGS.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]
    if jax.default_backend() != backend:
        raise InputError(
            f"runtime.device is {backend}, but JAX on {socket.gethostname()} only has {jax.default_backend()}: "
            "install awt[cuda] there, or set runtime.device: cpu"
        )
    return f"cpu ({processor()})" if backend == "cpu" else str(jax.devices()[0].device_kind)


def _share_gpu(gpus: float) -> None:
    """Has JAX take memory of its GPU (the one that Ray names in CUDA_VISIBLE_DEVICES) as it needs it where cells share
    one, else nearly all at once; what the machine's environment says counts more."""
    if gpus < 1:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    else:
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", WHOLE_GPU)


def _function(name: str) -> Any:
    """The cell function "module:name": of awt or the user's own, never an installed one, since a spec may come from a
    file that others could write."""
    if not code.is_own(name.partition(":")[0]):
        raise InputError(f"cell function {name} is neither one of awt's nor one of yours")
    return load(name)


def _add_folders(folders: tuple[str, ...]) -> None:
    """Where the driver found the user's own modules; elsewhere Ray has brought them along."""
    for folder in folders:
        if folder not in sys.path and Path(folder).is_dir():
            sys.path.append(folder)
