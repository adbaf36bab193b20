"""What a machine looks like, as plain data. Of awt only the standard library is imported at the top, since this must
run, and answer, where packages are missing."""

import importlib
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

JAX_SECONDS = 30
URL_SECONDS = 5.0
SHARED_MEMORY = Path("/dev/shm")


class Place(NamedTuple):
    """The store: its folder, a file there by which those who share the driver's disk know it, and its URL."""

    folder: str
    mark: str
    url: str | None = None


def look(packages: Sequence[str], store: Place | None = None, ask_jax: bool = False) -> dict[str, Any]:
    """Versions, room, devices, the clock; and whether the store can be used from here."""
    folders = {tempfile.gettempdir(), str(Path(__file__).parent)}  # on a node the code lies where Ray spills
    return {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "processor": _processor(),
        "versions": {name: _version(name) for name in packages},
        "import": _import_error(),
        "rooms": {folder: room(Path(folder)) for folder in sorted(folders)},
        "shared_memory": room(SHARED_MEMORY)["free"] if SHARED_MEMORY.exists() else None,
        "store": None if store is None else _store(store),
        "jax": _jax() if ask_jax else None,
        "time": time.time(),
    }


def _processor() -> str:
    from awt.runtime.device import processor

    return processor()


def room(folder: Path) -> dict[str, int]:
    """Bytes, and files, that the disk of a folder has left; of one that is not there yet, of its first parent."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    disk = os.statvfs(there)
    usage = shutil.disk_usage(there)
    return {"free": usage.free, "total": usage.total, "files": disk.f_favail if disk.f_files else 1}


def writing_error(folder: Path) -> str | None:
    """Why a file cannot be written to, and read back from, a folder; which is made if need be, and left."""
    content, path = uuid.uuid4().hex, folder / f".doctor-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if path.read_text() != content:
            return "what is written there does not come back"
    except OSError as error:
        return str(error)
    finally:
        path.unlink(missing_ok=True) if path.parent.is_dir() else None
    return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _import_error() -> str | None:
    try:
        importlib.import_module("awt.runtime.worker")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _store(store: Place) -> str:
    """`shared` with the driver, an own folder of the same name, or why there is none."""
    folder = Path(store.folder)
    shared = (folder / store.mark).exists()
    if error := writing_error(folder / "work"):
        return error
    return _reached(store.url) if store.url else "shared" if shared else "own"


def _reached(url: str) -> str:
    try:
        remote = importlib.import_module("awt.runtime.remote")
        remote.Remote(url, URL_SECONDS).check()
    except Exception as error:
        return " ".join(str(error).split())
    return "shared"


def _jax() -> dict[str, Any]:
    """What JAX computes on, seen by a process of its own, which gives the devices' memory back."""
    code = "import jax; print(jax.default_backend(), len(jax.devices()))"
    environment = dict(os.environ) | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if not environment.get("CUDA_VISIBLE_DEVICES", "all"):
        del environment["CUDA_VISIBLE_DEVICES"]  # Ray hides the GPUs from a task that asks for none
    try:
        asked = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=JAX_SECONDS,
            check=True,
        )
        backend, count = asked.stdout.split()[-2:]
    except subprocess.TimeoutExpired:
        return {"error": f"JAX does not start within {JAX_SECONDS} s"}
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        said = getattr(error, "stderr", None) or str(error)
        return {"error": str(said).strip().splitlines()[-1]}
    return {"backend": backend, "devices": int(count)}
