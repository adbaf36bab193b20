"""The part of a store that is at a URL: entries go there when they are finished, and come back when they are missed.

cells/ab/abcd…/   the entry's files, then meta.json: an entry without it is not whole
work/abcd…/       cell.json, log, checkpoints/ (see the courier)
leases/           of drivers at work
"""

import functools
import json
import shutil
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from awt.artifacts import sha256_file
from awt.runtime.remote import Remote

THREADS = 8
WAITING = 256  # files and entries that may wait to be sent

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Listing:
    """The keys that a URL knows."""

    finished: frozenset[str]
    begun: frozenset[str]
    checkpointed: frozenset[str]


class Mirror:
    """Between a store's folder on this machine and its URL. Sends in the background: what could not be sent is noted in
    the folder, and raised when `flush` is called."""

    def __init__(self, remote: Remote, root: Path) -> None:
        self.remote, self._root = remote, root
        self._unsent = root / "unsent"
        self._unsent.mkdir(parents=True, exist_ok=True)
        self._pool = ThreadPoolExecutor(THREADS)
        self._sending: deque[Future[None]] = deque()
        self._has_failed = False

    def fetch(self, key: str, folder: Path) -> bool:
        """Brings an entry; whether there was a whole one. A damaged one counts as absent: the next is written over
        it."""
        temporary = folder.parent.parent / f".{uuid.uuid4().hex}"
        try:
            temporary.mkdir(parents=True)
            if not self._fetch_into(temporary, key):
                return False
            folder.parent.mkdir(exist_ok=True)
            if not folder.exists():
                temporary.rename(folder)
            return True
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _fetch_into(self, temporary: Path, key: str) -> bool:
        meta = temporary / "meta.json"
        if not self.remote.fetch(f"{entry_name(key)}/meta.json", meta):
            return False
        try:
            digests = dict(json.loads(meta.read_bytes())["digests"])
        except (ValueError, KeyError, TypeError):
            return False
        if any("/" in name for name in digests):
            return False
        return all(
            self.remote.fetch(f"{entry_name(key)}/{name}", temporary / name) and sha256_file(temporary / name) == digest
            for name, digest in digests.items()
        )

    def bring(self, name: str) -> Path:
        """A working file, brought if it is not here."""
        path = self._root / name
        if not path.exists():
            temporary = self._root / "unsent" / f".{uuid.uuid4().hex}"
            if self.remote.fetch(name, temporary):
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary.replace(path)
        return path

    def send(self, key: str) -> None:
        """Sends a finished entry and its log, in the background."""
        (self._unsent / key).touch()
        self._submit(self._send_entry, key)

    def send_file(self, name: str) -> None:
        self._submit(self._send_work_file, name)

    def send_rest(self) -> None:
        """Sends what an earlier run could not."""
        for path in self._unsent.glob("[0-9a-f]*"):
            self._submit(self._send_entry, path.name)

    def flush(self) -> None:
        """Waits until all is sent; raises what went wrong."""
        while self._sending:
            self._sending.popleft().result()

    def _submit(self, action: Callable[[str], None], name: str) -> None:
        while self._sending and (len(self._sending) > WAITING or self._sending[0].done()):
            self._sending.popleft().result()
        self._sending.append(self._pool.submit(self._attempt, action, name))

    def _attempt(self, action: Callable[[str], None], name: str) -> None:
        """Does something, unless something before it failed: the patience of one is enough."""
        if self._has_failed:
            return
        try:
            action(name)
        except Exception:
            self._has_failed = True
            raise

    def _send_work_file(self, name: str) -> None:
        self.remote.send(self._root / name, name)

    def _send_entry(self, key: str) -> None:
        folder = self._root / entry_name(key)
        if (self._root / work_name(key) / "log").exists():
            self.remote.send(self._root / work_name(key) / "log", f"{work_name(key)}/log")
        if folder.exists():
            for path in sorted(folder.iterdir(), key=lambda path: (path.name == "meta.json", path.name)):
                self.remote.send(path, f"{entry_name(key)}/{path.name}")
        self.remote.remove(f"{work_name(key)}/checkpoints")
        (self._unsent / key).unlink(missing_ok=True)

    def listing(self) -> Listing:
        cells = [name.split("/") for name in self.remote.names("cells")]
        work = [name.split("/") for name in self.remote.names("work")]
        return Listing(
            frozenset(parts[1] for parts in cells if len(parts) == 3 and parts[2] == "meta.json"),
            frozenset(parts[0] for parts in work),
            frozenset(parts[0] for parts in work if parts[1:2] == ["checkpoints"] and parts[-1].endswith(".json")),
        )

    def ages(self, key: str) -> list[float]:
        """Seconds since a cell's files were written, by the clock at the URL."""
        names = [f"{entry_name(key)}/meta.json", f"{work_name(key)}/cell.json"]
        names += [f"{work_name(key)}/checkpoints/{name}" for name in self.remote.names(f"{work_name(key)}/checkpoints")]
        written = [self.remote.modified(name) for name in names]
        return [self._time - when for when in written if when is not None]

    @functools.cached_property
    def _time(self) -> float:
        """What a file that is written now gets."""
        name = f".probe-{uuid.uuid4().hex}"
        self.remote.write(name, b"")
        try:
            return self.remote.modified(name) or 0.0
        finally:
            self.remote.remove(name)

    def drop(self, key: str) -> int:
        """Removes a cell; returns the bytes freed."""
        freed = 0
        for folder in (entry_name(key), work_name(key)):
            freed += sum(self.remote.size(f"{folder}/{name}") for name in self.remote.names(folder))
            self.remote.remove(folder)
        (self._unsent / key).unlink(missing_ok=True)
        return freed


def entry_name(key: str) -> str:
    return f"cells/{key[:2]}/{key}"


def work_name(key: str) -> str:
    return f"work/{key}"


def in_parallel(function: Callable[[S], T], values: Iterable[S]) -> list[T]:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(function, values))
