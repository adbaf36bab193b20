"""Files by their hashes: md5 as DVC has them, SHA-256 as run records do; and what DVC keeps under its hashes."""

import configparser
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from awt.errors import InputError

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
        status = path.stat()
        place = (status.st_dev, status.st_ino)  # DVC may link a file to its cache
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


@dataclass(frozen=True)
class Objects:
    """Files by their md5, as DVC lays them out under a folder: its cache, or a remote."""

    root: Path

    def path(self, md5: str) -> Path:
        return self.root / "files" / "md5" / md5[:2] / md5[2:]

    def has(self, md5: str) -> bool:
        return self.path(md5).is_file()

    def is_intact(self, md5: str) -> bool:
        return hash_file(self.path(md5)).md5 == md5.removesuffix(DIR)

    def read(self, md5: str) -> bytes | None:
        return self.path(md5).read_bytes() if self.has(md5) else None

    def members(self, md5: str) -> dict[str, str] | None:
        """The files of a folder and their md5, if its list is here and whole."""
        if not self.has(md5) or not self.is_intact(md5):
            return None
        return {entry["relpath"]: entry["md5"] for entry in json.loads(self.path(md5).read_bytes())}

    def parts(self, md5: str) -> list[str]:
        """The objects that a file or folder is made of, if all of them are here."""
        members = self.members(md5) if md5.endswith(DIR) else {}
        objects = [md5, *(members or {}).values()]
        return objects if members is not None and all(map(self.has, objects)) else []


def cache_of(repository: Path) -> Objects:
    chosen = _config(repository).get("cache", {}).get("dir")
    return Objects(_resolve(repository, chosen) if chosen else repository / ".dvc" / "cache")


def remotes_of(repository: Path) -> list[Objects]:
    """The remotes that are folders of this machine, the default one first; others only DVC can ask."""
    config = _config(repository)
    default = config.get("core", {}).get("remote")
    urls = {name[8:-1]: section["url"] for name, section in config.items() if name.startswith('remote "')}
    ordered = sorted(urls, key=lambda name: name != default)
    return [Objects(_resolve(repository, urls[name])) for name in ordered if "://" not in urls[name]]


def _config(repository: Path) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read([repository / ".dvc" / "config", repository / ".dvc" / "config.local"], encoding="utf-8")
    except configparser.Error as error:
        raise InputError(f"{repository / '.dvc' / 'config'}: not readable ({error})") from None
    return {name.strip("'"): dict(parser[name]) for name in parser.sections()}


def _resolve(repository: Path, path: str) -> Path:
    return Path(os.path.normpath(repository / ".dvc" / path))
