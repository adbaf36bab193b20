"""An experiment as it is in the working tree, or was at a revision: its dvc.lock, its run records, its files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from awt.errors import InputError
from awt.lineage.graph import Graph, Node
from awt.lineage.hashes import Objects, cache_of
from awt.lineage.pipeline import Step, is_record, read_lock, recorded_by_old
from awt.lineage.records import RECORD_FORMAT
from awt.lineage.repository import git

RAW = "raw data"
_RECORD_PARTS = ("params", "code", "inputs", "outputs", "parents", "git", "versions", "cells")
_CODE_PARTS = ("modules", "distributions")


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
        """Those that can be read, by stage; what was edited out of shape is told by its hash."""
        records = {}
        for step in self.steps.values():
            for path in filter(is_record, step.outs):
                record = _json(self.read(path))
                if not isinstance(record, dict) or record.get("stage") != step.name:
                    continue
                if record.get("format_version", RECORD_FORMAT) == 1:
                    raise recorded_by_old(str(Path(self.place, path)))
                if all(isinstance(record.get(name, {}), dict) for name in _RECORD_PARTS):
                    records[step.name] = record
        return records

    def code(self, stage: str) -> dict[str, Any] | None:
        """What a stage's record says of the code behind it, if it is here and has its shape."""
        code = self.records.get(stage, {}).get("code", {})
        return code if all(isinstance(code.get(name), dict) for name in _CODE_PARTS) else None

    @cached_property
    def raw_data(self) -> dict[str, Any] | None:
        """What the workflow's description of its data says of where they are from."""
        described = _json(self.read("artifacts/data/dataset.json"))
        return described.get("sources") if isinstance(described, dict) else None

    @cached_property
    def makers(self) -> dict[str, str]:
        """The stage that each out comes from."""
        return {out: step.name for step in self.steps.values() for out in step.outs}

    def out_of(self, path: str) -> str | None:
        """The out that a path is, or lies in."""
        return next((out for out in self.makers if path == out or path.startswith(f"{out}/")), None)

    def maker_of(self, path: str) -> str:
        """The stage that wrote a path that is an out, or lies in one."""
        return self.makers[self.out_of(path) or path]

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

    def outputs(self, stage: str) -> dict[str, str]:
        """SHA-256 of the files that a stage wrote, by its record."""
        return dict(self.records.get(stage, {}).get("outputs", {}))

    @cached_property
    def order(self) -> list[str]:
        """Stages, each after those that it reads from."""
        ordered: list[str] = []
        waiting = list(self.steps)
        while waiting:
            ready = [name for name in waiting if not self._sources(name) & set(waiting)] or waiting[:1]
            ordered += ready
            waiting = [name for name in waiting if name not in ready]
        return ordered

    def before(self, stage: str) -> list[str]:
        """A stage and those behind it, each before those that it reads from."""
        needed = {stage}
        for name in reversed(self.order):
            needed |= self._sources(name) if name in needed else set()
        return [name for name in reversed(self.order) if name in needed]

    def _sources(self, stage: str) -> set[str]:
        return {self.makers[path] for path in self.steps[stage].inputs if path in self.makers}

    def module_path(self, module: str) -> str:
        """Where a module lies in the repository: the user's by the experiment or at the root, awt's under src. One that
        is not there any more lay under src."""
        way = module.replace(".", "/")
        paths = [Path(top, f"{way}{end}") for top in (self.place, ".", "src") for end in (".py", "/__init__.py")]
        return next((path for path in paths if (self.repository / path).is_file()), Path("src", f"{way}.py")).as_posix()


def take(repository: Path, place: str = ".", revision: str | None = None) -> Snapshot:
    source = Path(place, "dvc.lock").as_posix()
    if revision is None:
        path = repository / source
        if not path.exists():
            raise InputError(f"{path} is missing: the experiment has not run; `dvc repro` first")
        text = path.read_text(encoding="utf-8")
    else:
        committed = git(repository, "show", f"{revision}:{source}")
        if committed is None:
            raise InputError(f"revision {revision} has no {source}: name one after the experiment ran")
        text = committed
    return Snapshot(repository, place, revision, read_lock(text, source))


def graph_of(snapshot: Snapshot) -> Graph:
    """The experiment's stages, what they read and what they wrote. Times and hosts are no content."""
    nodes = {RAW: Node("data", snapshot.raw_data, RAW)}
    parents: dict[str, tuple[str, ...]] = {RAW: ()}
    for step in snapshot.steps.values():
        own = {f"parameter {name}": Node("parameter", value, name) for name, value in step.params.items()}
        own |= _code(step, snapshot) | _environment(step.name, snapshot)
        read = {f"artifact {path}": Node("artifact", md5, path) for path, md5 in step.inputs.items()}
        wrote = {f"artifact {path}": Node("artifact", md5, path) for path, md5 in step.outs.items()}
        nodes |= own | {name: node for name, node in read.items() if name not in nodes}
        parents |= dict.fromkeys(own, ()) | {name: () for name in read if name not in parents}
        nodes[f"stage {step.name}"] = Node("stage", None, step.name)
        parents[f"stage {step.name}"] = (*(() if read else (RAW,)), *own, *read)
        for name, node in wrote.items():
            if not is_record(node.label):
                nodes[name], parents[name] = node, (f"stage {step.name}",)
    return Graph(nodes, parents)


def _code(step: Step, snapshot: Snapshot) -> dict[str, Node]:
    """Every module behind a stage; where its record is not here, what dvc.lock says of all of them."""
    code = snapshot.code(step.name)
    if code is None:
        return {f"code of {step.name}": Node("code", step.code, f"of {step.name}")}
    return {
        f"code {module}": Node("code", digest, snapshot.module_path(module))
        for module, digest in code["modules"].items()
    }


def _environment(stage: str, snapshot: Snapshot) -> dict[str, Node]:
    record, code = snapshot.records.get(stage), snapshot.code(stage)
    if record is None:
        return {}
    versions = {**(code["distributions"] if code else {}), **record.get("versions", {})}
    versions["platform"] = record.get("platform")
    return {f"{name} of {stage}": Node("environment", value, f"{name} ({stage})") for name, value in versions.items()}


def _json(data: bytes | None) -> Any:
    try:
        return json.loads(data) if data is not None else None
    except ValueError:
        return None
