"""An experiment as it is in the working tree, or was at a revision: its dvc.lock, its run records, its files."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from awt.errors import InputError
from awt.lineage.graph import Graph, Node
from awt.lineage.lock import Objects, Step, cache_of, read_lock
from awt.lineage.pipeline import is_record

RAW = "raw data"


@dataclass(frozen=True)
class Snapshot:
    """`place` is the experiment's folder in the repository; no revision: the working tree."""

    repository: Path
    place: str
    revision: str | None
    steps: Mapping[str, Step]

    @property
    def folder(self) -> Path:
        return self.repository / self.place

    @cached_property
    def cache(self) -> Objects:
        return cache_of(self.repository)

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """Those that can be read, by stage."""
        found = {}
        for step in self.steps.values():
            for path in filter(is_record, step.outs):
                record = _json(self.read(path))
                if _is_record_of(step.name, record):
                    found[step.name] = record
        return found

    @cached_property
    def makers(self) -> dict[str, str]:
        """The stage that each out comes from."""
        return {out: step.name for step in self.steps.values() for out in step.outs}

    def out_of(self, path: str) -> str | None:
        """The out that a path is, or lies in."""
        return next((out for out in self.makers if path == out or path.startswith(f"{out}/")), None)

    def md5(self, path: str) -> str | None:
        """What dvc.lock, and the list of a folder's files, say of an out or a file in one."""
        out = self.out_of(path)
        if out is None:
            return None
        md5 = self.steps[self.makers[out]].outs[out]
        return md5 if path == out else (self.cache.members(md5) or {}).get(path[len(out) + 1 :])

    def read(self, path: str) -> bytes | None:
        """A file's bytes: of the working tree as it is, of a revision from DVC's cache."""
        if self.revision is None and (self.folder / path).is_file():
            return (self.folder / path).read_bytes()
        md5 = self.md5(path)
        return self.cache.read(md5) if md5 else None

    @cached_property
    def order(self) -> list[str]:
        """Stages, each after those that it reads from."""
        found: list[str] = []
        waiting = list(self.steps)
        while waiting:
            ready = [name for name in waiting if not self._sources(name) & set(waiting)] or waiting[:1]
            found += ready
            waiting = [name for name in waiting if name not in ready]
        return found

    def before(self, stage: str) -> list[str]:
        """A stage and those behind it, each before those that it reads from."""
        needed = {stage}
        for name in reversed(self.order):
            needed |= self._sources(name) if name in needed else set()
        return [name for name in reversed(self.order) if name in needed]

    def _sources(self, stage: str) -> set[str]:
        return {self.makers[path] for path in self.steps[stage].inputs if path in self.makers}


def take(repository: Path, place: str = ".", revision: str | None = None) -> Snapshot:
    source = Path(place, "dvc.lock").as_posix()
    if revision is None:
        path = repository / source
        if not path.exists():
            raise InputError(f"{path} is missing: the experiment has not run; `dvc repro` first")
        text = path.read_text(encoding="utf-8")
    else:
        found = git(repository, "show", f"{revision}:{source}")
        if found is None:
            raise InputError(f"revision {revision} has no {source}: name one after the experiment ran")
        text = found
    return Snapshot(repository, place, revision, read_lock(text, source, place))


def git(repository: Path, *words: str) -> str | None:
    """What git answers, None if it refuses or is not there."""
    try:
        done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode()


def graph_of(snapshot: Snapshot) -> Graph:
    """The experiment's stages, what they read and what they wrote. Times and hosts are no content."""
    described = _json(snapshot.read("artifacts/data/dataset.json")) or {}
    nodes = {RAW: Node("data", described.get("sources"), RAW)}
    parents: dict[str, tuple[str, ...]] = {RAW: ()}
    for step in snapshot.steps.values():
        own = {f"parameter {name}": Node("parameter", value, name) for name, value in step.params.items()}
        own |= {f"code {name}": Node("code", md5, name) for name, md5 in step.code.items()}
        own |= _environment(step.name, snapshot.records.get(step.name, {}))
        nodes |= own | {f"stage {step.name}": Node("stage", None, step.name)}
        parents |= dict.fromkeys(own, ())
        inputs = [f"artifact {path}" for path in step.inputs]
        raw = () if any(path in snapshot.makers for path in step.inputs) else (RAW,)
        parents[f"stage {step.name}"] = (*raw, *own, *inputs)
        for path, md5 in step.outs.items():
            if not is_record(path):
                nodes[f"artifact {path}"] = Node("artifact", md5, path)
                parents[f"artifact {path}"] = (f"stage {step.name}",)
    for name in {parent for found in parents.values() for parent in found if parent not in nodes}:
        nodes[name], parents[name] = Node("artifact", None, name), ()
    return Graph(nodes, parents)


def _environment(stage: str, record: dict[str, Any]) -> dict[str, Node]:
    found = {**record.get("versions", {}), "platform": record.get("platform")} if record else {}
    return {f"{name} of {stage}": Node("environment", value, f"{name} ({stage})") for name, value in found.items()}


def _is_record_of(stage: str, record: Any) -> bool:
    """Whether it has the shape of one: what was edited out of shape is told by its hash."""
    if not isinstance(record, dict) or record.get("stage") != stage:
        return False
    parts = ("params", "code", "inputs", "outputs", "parents", "git", "versions", "cells")
    return all(isinstance(record.get(name, {}), dict) for name in parts)


def _json(data: bytes | None) -> Any:
    try:
        return json.loads(data) if data is not None else None
    except ValueError:
        return None
