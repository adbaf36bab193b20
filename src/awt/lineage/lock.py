"""dvc.lock, and DVC's objects: its cache, and a remote that is a folder."""

import configparser
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from awt.errors import InputError
from awt.lineage.hashes import DIR, hash_file
from awt.lineage.pipeline import flat, load_yaml


@dataclass(frozen=True)
class Step:
    """A stage as DVC ran it last. Code goes by its path in the repository, inputs and outs by theirs in the experiment;
    hashes are md5, a folder's that of the list of its files."""

    name: str
    command: str
    code: Mapping[str, str]
    inputs: Mapping[str, str]
    params: Mapping[str, Any]
    outs: Mapping[str, str]


def read_lock(text: str, source: str, place: str) -> dict[str, Step]:
    """The steps of the dvc.lock of the experiment at `place` in the repository."""
    found = load_yaml(text, source)
    try:
        return {name: _step(name, step, place) for name, step in found["stages"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source}: not a dvc.lock ({error!r}); `dvc repro` writes it anew") from None


def _step(name: str, step: Mapping[str, Any], place: str) -> Step:
    deps = {dep["path"]: str(dep["md5"]) for dep in step.get("deps", ())}
    code = {path for path in deps if path.startswith(".")}
    params: dict[str, Any] = {}
    for section, value in step.get("params", {}).get("params.yaml", {}).items():
        params |= flat(value, section)
    return Step(
        name,
        step["cmd"],
        {os.path.normpath(Path(place, path)): deps[path] for path in code},
        {path: md5 for path, md5 in deps.items() if path not in code},
        params,
        {out["path"]: str(out["md5"]) for out in step.get("outs", ())},
    )


@dataclass(frozen=True)
class Objects:
    """Files by their md5, as DVC lays them out under a folder."""

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


def experiment_folders(repository: Path) -> Iterator[Path]:
    """The folders with a dvc.lock: the root's, then those in pipelines/."""
    if (repository / "dvc.lock").exists():
        yield repository
    yield from sorted(path.parent for path in (repository / "pipelines").rglob("dvc.lock"))
