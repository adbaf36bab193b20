"""The content-addressed store of finished cells, and the working files (spec, log, checkpoints) of unfinished ones.

format            of the store
cells/ab/abcd…/   meta.json and the files that the cell returned; appears whole, by a rename
work/abcd…/       cell.json, log, checkpoints/
corrupt/          entries whose content no longer matches their digests, moved aside
locks/            of drivers at work
unsent/           keys of entries that are not at the store's URL yet, where it has one
"""

import functools
import json
import os
import shutil
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from awt.artifacts import Buffer, encode_json, sha256, sha256_file, write
from awt.errors import InputError
from awt.runtime.cell import STORE_FORMAT, Source
from awt.runtime.mirror import Listing, Mirror, entry_name, in_parallel, work_name
from awt.runtime.remote import Remote


@dataclass(frozen=True)
class Entry:
    """A finished cell: where its files are, their digests, and how it came about."""

    key: str
    folder: Path
    digests: Mapping[str, str]
    about: Mapping[str, Any]

    def path(self, name: str) -> Path:
        return self.folder / name

    def read(self, name: str) -> bytes:
        return self.path(name).read_bytes()

    def source(self, name: str) -> Source:
        """A file of this entry as the input of another cell."""
        return Source(self.path(name), self.digests[name])


class Store:
    """Cells by key, under one folder that several runs, and nodes with a shared disk, may use at once. With a remote
    the folder is this machine's part of a store at a URL."""

    def __init__(self, root: Path, remote: Remote | None = None) -> None:
        self.root = root
        self._listing = Listing(frozenset(), frozenset(), frozenset())
        try:
            for name in ("cells", "work"):
                (root / name).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"runtime.store: {root} is a file, or lies under one: name a folder") from None
        except PermissionError:
            raise InputError(f"runtime.store: {root} cannot be created or is not writable") from None
        if not os.access(root / "cells", os.W_OK):
            raise InputError(f"runtime.store: {root} is not writable")
        self._check_format()
        self.remote = remote
        self._mirror = Mirror(remote, root) if remote is not None else None

    def _check_format(self) -> None:
        """Says once what an older awt's cells are worth: nothing to this one, and they stay until they are dropped."""
        mark = self.root / "format"
        if mark.exists():
            return
        if next((self.root / "cells").glob("??"), None) is not None:
            print(
                f"{self.root}: its cells were computed by awt 0.1, whose keys said too little to be trusted: they are "
                "computed again (`awt store gc --days 0` drops the old ones)",
                file=sys.stderr,
            )
        write(mark, f"{STORE_FORMAT}\n".encode())

    def find(self, key: str) -> Entry | None:
        """The entry of a key, verified by its digests; a damaged one is moved aside and counts as absent."""
        entry = self._entry(key)
        if entry is not None and not self.is_intact(entry):
            self._set_aside(entry.folder)
            entry = None
        return entry or self._fetch(key)

    def find_all(self, keys: Iterable[str]) -> dict[str, Entry]:
        """The entries of those keys that have one."""
        wanted = list(dict.fromkeys(keys))
        found = in_parallel(self.find, wanted) if self._mirror is not None else map(self.find, wanted)
        return {key: entry for key, entry in zip(wanted, found, strict=True) if entry is not None}

    def peek(self, key: str) -> Entry | None:
        """The entry of a key as it lies there, for `is_intact` to judge."""
        return self._entry(key) or self._fetch(key)

    def _fetch(self, key: str) -> Entry | None:
        """The entry at the URL, brought here."""
        return self._entry(key) if self._mirror is not None and self._mirror.fetch(key, self._folder(key)) else None

    def put(self, key: str, files: Mapping[str, Buffer], about: Mapping[str, Any]) -> Entry:
        """Keeps a finished cell: the whole entry appears at once, or none of it does."""
        digests = {name: sha256(data) for name, data in files.items()}
        temporary = self.root / "cells" / f".{uuid.uuid4().hex}"
        folder = self._folder(key)
        try:
            temporary.mkdir()
            for name, data in files.items():
                (temporary / name).write_bytes(data)
            meta = {"key": key, "digests": digests, "about": dict(about)}
            (temporary / "meta.json").write_bytes(encode_json(meta))
            folder.parent.mkdir(exist_ok=True)
            self._appear(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(self.checkpoints(key), ignore_errors=True)
        if self._mirror is not None:
            self._mirror.send(key)
        return Entry(key, folder, digests, about)

    def describe(self, key: str, cell: Mapping[str, Any]) -> None:
        """Notes what a cell that is about to be computed is."""
        write(self.work(key) / "cell.json", encode_json(cell))
        if self._mirror is not None:
            self._mirror.send_file(f"{work_name(key)}/cell.json")

    def send_log(self, key: str) -> None:
        """Has others see why a cell failed."""
        if self._mirror is not None and self.log(key).exists():
            self._mirror.send_file(f"{work_name(key)}/log")

    def send_rest(self) -> None:
        """Begins to send what an earlier run could not."""
        if self._mirror is not None:
            self._mirror.send_rest()

    def flush(self) -> None:
        """Waits until the URL has all that was put here."""
        if self._mirror is not None:
            self._mirror.flush()

    def _appear(self, temporary: Path, folder: Path) -> None:
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            if self.find(folder.name) is None:  # half of an entry lies there
                self._set_aside(folder)
                temporary.rename(folder)  # else another run was first, with the same content: its entry stays

    def _set_aside(self, folder: Path) -> None:
        if folder.exists():
            (self.root / "corrupt").mkdir(exist_ok=True)
            folder.rename(self.root / "corrupt" / f"{folder.name}-{uuid.uuid4().hex[:8]}")

    def is_intact(self, entry: Entry) -> bool:
        try:
            return all(sha256_file(entry.path(name)) == digest for name, digest in entry.digests.items())
        except (OSError, InputError):
            return False

    def has(self, key: str) -> bool:
        """Whether the cell was finished, here or elsewhere when the keys were last listed."""
        return (self._folder(key) / "meta.json").exists() or key in self._listing.finished

    def has_checkpoints(self, key: str) -> bool:
        return self.checkpoints(key).exists() or key in self._listing.checkpointed

    def clear(self) -> None:
        for key in self.every_key():
            self.drop(key)

    def age(self, key: str) -> float:
        """Seconds since a cell was begun, checkpointed or finished, by the clock of whoever keeps its files: machines'
        clocks differ."""
        folders = [self._folder(key), self.work(key), self.checkpoints(key)]
        ages = [self._disk_time - folder.stat().st_mtime for folder in folders if folder.exists()]
        if self._mirror is not None:
            ages += self._mirror.ages(key)
        return max(0.0, min(ages, default=0.0))

    @functools.cached_property
    def _disk_time(self) -> float:
        """What a file that is written now gets."""
        probe = self.root / f".probe-{uuid.uuid4().hex}"
        probe.touch()
        try:
            return probe.stat().st_mtime
        finally:
            probe.unlink()

    def drop(self, key: str) -> int:
        """Removes a cell and its working files; returns the bytes freed."""
        freed = 0
        for folder in (self._folder(key), self.work(key)):
            freed += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            shutil.rmtree(folder, ignore_errors=True)
        return freed + (self._mirror.drop(key) if self._mirror is not None else 0)

    def every_key(self) -> Iterator[str]:
        """Keys of all cells, finished or begun; at a URL their descriptions come along."""
        finished = {path.name for path in (self.root / "cells").glob("??/*")}
        begun = {path.name for path in (self.root / "work").iterdir()}
        if self._mirror is not None:
            self._listing = self._mirror.listing()
            in_parallel(lambda key: self._bring(f"{work_name(key)}/cell.json"), self._listing.begun - begun)
        yield from sorted(finished | begun | self._listing.finished | self._listing.begun)

    def read_log(self, key: str) -> str | None:
        """A cell's log, if it has one."""
        self._bring(f"{work_name(key)}/log")
        log = self.log(key)
        return log.read_text(encoding="utf-8") if log.exists() else None

    def _bring(self, name: str) -> None:
        if self._mirror is not None:
            self._mirror.bring(name)

    def work(self, key: str) -> Path:
        return self.root / work_name(key)

    def log(self, key: str) -> Path:
        return self.work(key) / "log"

    def checkpoints(self, key: str) -> Path:
        return self.work(key) / "checkpoints"

    def _folder(self, key: str) -> Path:
        return self.root / entry_name(key)

    def _entry(self, key: str) -> Entry | None:
        folder = self._folder(key)
        try:
            meta = json.loads((folder / "meta.json").read_bytes())
            return Entry(key, folder, meta["digests"], meta["about"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return Entry(key, folder, {"meta.json": "unreadable"}, {})
