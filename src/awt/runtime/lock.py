"""One driver a stage of an experiment: a second one is told of the first, and a killed one leaves nothing behind.

On a disk the lock is the kernel's. At a URL it is a lease, a file that its holder writes anew every few seconds:
whoever wants it watches whether the file changes, so that no machine's clock is compared with another's.
"""

import fcntl
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from awt.artifacts import encode_json
from awt.errors import AwtError, WorkError
from awt.runtime.remote import Remote

BEAT_SECONDS = 4.0
DEAD_SECONDS = 20.0  # without a beat
SETTLE_SECONDS = 1.5  # for two that take a free lease at once to see who was last


@contextmanager
def only_driver(what: str, name: str, folder: Path, remote: Remote | None) -> Iterator[None]:
    """Holds the lock `name` for as long as the context lasts; `what` says in messages what it is of."""
    with ExitStack() as held:
        held.enter_context(_file_lock(what, folder / name))
        if remote is not None:
            held.enter_context(Lease(what, f"leases/{name}.json", remote))
        yield


def _about() -> dict[str, Any]:
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return {"host": socket.gethostname(), "pid": os.getpid(), "since": since}


def _refusal(what: str, holder: Any) -> WorkError:
    known = holder if isinstance(holder, dict) else {}
    host, pid, since = (known.get(name, "unknown") for name in ("host", "pid", "since"))
    return WorkError(
        f"{what} is being computed by another driver: process {pid} on {host}, since {since} by its clock. "
        "Wait for it, or end it and run again: what it finished is kept"
    )


@contextmanager
def _file_lock(what: str, path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refusal(what, _decode(file.read())) from None
        except OSError:
            print(f"warning: {path.parent} has no file locks: see to it that one driver runs", file=sys.stderr)
        file.truncate()
        file.write(encode_json(_about()).decode())
        file.flush()
        yield
        file.seek(0)
        file.truncate()


class Lease:
    """A context in which this process holds a lease; a thread keeps it alive."""

    def __init__(self, what: str, name: str, remote: Remote) -> None:
        self._what, self._name, self._remote = what, name, remote
        self._about = _about() | {"token": uuid.uuid4().hex}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> "Lease":
        self._wait_for_the_holder()
        self._beat(0)
        time.sleep(SETTLE_SECONDS)
        holder = self._holder()
        if not self._is_own(holder):
            raise _refusal(self._what, holder)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        try:
            if self._is_own(self._holder()):
                self._remote.remove(self._name)
        except AwtError:
            return  # it is seen to be dead soon enough

    def _wait_for_the_holder(self) -> None:
        """Returns once nobody keeps the lease alive."""
        found = self._remote.read(self._name)
        if found is None:
            return
        holder = _decode(found)
        if isinstance(holder, dict):
            print(
                f"looking whether process {holder.get('pid')} on {holder.get('host')} still computes {self._what} "
                f"(up to {DEAD_SECONDS:.0f} s)",
                file=sys.stderr,
                flush=True,
            )
        deadline = time.monotonic() + DEAD_SECONDS
        while time.monotonic() < deadline:
            time.sleep(BEAT_SECONDS / 4)
            now = self._remote.read(self._name)
            if now is None:
                return
            if now != found and (beating := _decode(now)) is not None:  # else it is being written
                raise _refusal(self._what, beating)

    def _keep(self) -> None:
        beat = 0
        while not self._over.wait(BEAT_SECONDS):
            beat += 1
            try:
                holder = self._holder()
                if holder is not None and not self._is_own(holder):
                    return  # another took this one for dead: both go on, and write the same entries
                self._beat(beat)
            except AwtError:
                continue

    def _beat(self, number: int) -> None:
        self._remote.write(self._name, encode_json(self._about | {"beat": number}))

    def _holder(self) -> Any:
        return _decode(self._remote.read(self._name) or b"")

    def _is_own(self, holder: Any) -> bool:
        return isinstance(holder, dict) and holder.get("token") == self._about["token"]


def _decode(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
