"""Hashes of files and folders: md5 as DVC computes it, SHA-256 as run records have it, from one reading."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

_CHUNK = 2**20
DIR = ".dir"  # how DVC marks the hash of a folder


class Hashes(NamedTuple):
    md5: str
    sha256: str


def hash_file(path: Path) -> Hashes:
    md5, sha = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            md5.update(data)
            sha.update(data)
    return Hashes(md5.hexdigest(), sha.hexdigest())


def manifest(md5s: Mapping[str, str]) -> bytes:
    """DVC's list of a folder's files, whose md5 is the folder's."""
    return json.dumps([{"md5": md5s[name], "relpath": name} for name in sorted(md5s)]).encode()


def folder_md5(md5s: Mapping[str, str]) -> str:
    return hashlib.md5(manifest(md5s), usedforsecurity=False).hexdigest() + DIR


def ignored(repository: Path) -> tuple[str, ...]:
    """Names that .dvcignore has DVC leave out."""
    path = repository / ".dvcignore"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return tuple(line.strip().rstrip("/") for line in lines if line.strip() and not line.startswith("#"))


@dataclass
class Hasher:
    """Hashes files, each once however often it is asked for."""

    skip: tuple[str, ...] = ()
    _known: dict[tuple[int, int], Hashes] = field(default_factory=dict)

    def file(self, path: Path) -> Hashes:
        found = path.stat()
        place = (found.st_dev, found.st_ino)  # DVC may link a file to its cache
        if place not in self._known:
            self._known[place] = hash_file(path)
        return self._known[place]

    def files(self, path: Path) -> dict[str, Hashes]:
        """By the way from `path`: every file in a folder, "" for a file itself; nothing where nothing is."""
        if path.is_file():
            return {"": self.file(path)}
        return {
            one.relative_to(path).as_posix(): self.file(one)
            for one in sorted(path.rglob("*"))
            if self._counts(one, path)
        }

    def md5(self, path: Path) -> str | None:
        """As dvc.lock has it; None where nothing is."""
        if path.is_file():
            return self.file(path).md5
        return folder_md5({name: one.md5 for name, one in self.files(path).items()}) if path.is_dir() else None

    def sha256s(self, folder: Path, names: tuple[str, ...]) -> dict[str, str]:
        """Of every file that some paths of a folder name, or that lie in folders that they name."""
        return {
            f"{name}/{inner}".rstrip("/"): one.sha256
            for name in names
            for inner, one in self.files(folder / name).items()
        }

    def _counts(self, path: Path, top: Path) -> bool:
        parts = path.relative_to(top).parts
        return path.is_file() and not any(fnmatch(part, pattern) for part in parts for pattern in self.skip)
