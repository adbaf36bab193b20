"""The content-addressed store of finished cells, and the working files (spec, log, checkpoints) of unfinished ones.

cells/ab/abcd…/   meta.json and the files that the cell returned; appears whole, by a rename
work/abcd…/       cell.json, log, checkpoints/
corrupt/          entries whose content no longer matches their digests, moved aside
"""

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from awt.artifacts import Buffer, encode_json, sha256, sha256_file
from awt.errors import InputError
from awt.runtime.cell import Source


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
    """Cells by key, under one folder that several runs, and nodes with a shared disk, may use at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            for name in ("cells", "work"):
                (root / name).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"runtime.store: {root} is a file, or lies under one: name a folder") from None
        except PermissionError:
            raise InputError(f"runtime.store: {root} cannot be created or is not writable") from None
        if not os.access(root / "cells", os.W_OK):
            raise InputError(f"runtime.store: {root} is not writable")

    def find(self, key: str) -> Entry | None:
        """The entry of a key, verified by its digests; a damaged one is moved aside and counts as absent."""
        entry = self._entry(key)
        if entry is None or self.is_intact(entry):
            return entry
        self._set_aside(entry.folder)
        return None

    def peek(self, key: str) -> Entry | None:
        """The entry of a key as it lies there, for `is_intact` to judge."""
        return self._entry(key)

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
        return Entry(key, folder, digests, about)

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
        return (self._folder(key) / "meta.json").exists()

    def clear(self) -> None:
        for key in self.every_key():
            self.drop(key)

    def age(self, key: str) -> float:
        """Seconds since a cell was begun, checkpointed or finished."""
        folders = [self._folder(key), self.work(key), self.checkpoints(key)]
        return time.time() - max((folder.stat().st_mtime for folder in folders if folder.exists()), default=0.0)

    def drop(self, key: str) -> int:
        """Removes a cell and its working files; returns the bytes freed."""
        freed = 0
        for folder in (self._folder(key), self.work(key)):
            freed += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            shutil.rmtree(folder, ignore_errors=True)
        return freed

    def every_key(self) -> Iterator[str]:
        """Keys of all cells, finished or begun."""
        finished = {path.name for path in (self.root / "cells").glob("??/*")}
        begun = {path.name for path in (self.root / "work").iterdir()}
        yield from sorted(finished | begun)

    def work(self, key: str) -> Path:
        return self.root / "work" / key

    def log(self, key: str) -> Path:
        return self.work(key) / "log"

    def checkpoints(self, key: str) -> Path:
        return self.work(key) / "checkpoints"

    def _folder(self, key: str) -> Path:
        return self.root / "cells" / key[:2] / key

    def _entry(self, key: str) -> Entry | None:
        folder = self._folder(key)
        try:
            meta = json.loads((folder / "meta.json").read_bytes())
            return Entry(key, folder, meta["digests"], meta["about"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return Entry(key, folder, {"meta.json": "unreadable"}, {})
