"""Run records: when, where, from what and with what a stage ran. Nothing depends on them, so that they may hold times.

A record commits to what its stage read and wrote, and to the records of the stages before it, by SHA-256: together they
are a Merkle DAG, whose roots dvc.lock names.
"""

import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from awt.artifacts import encode_json, read_json, sha256, sha256_file
from awt.lineage.hashes import Hasher, ignored
from awt.lineage.pipeline import declared, find, flat, is_record, makers_of
from awt.lineage.repository import git
from awt.lineage.versions import versions
from awt.runtime.code import digest

RECORD_FORMAT = 2
RECORDS = Path("artifacts") / "records"
# what a run is known by: all that is settled when it begins
IDENTITY = ("stage", "command", "began", "host", "git", "versions", "params", "code", "inputs", "parents")


def git_state(repository: Path) -> dict[str, Any]:
    """The revision, and whether tracked files other than those that DVC itself touches differ from it."""
    others = [".", ":(exclude,glob)**/dvc.lock", ":(exclude,glob)**/.gitignore"]
    revision = git(repository, "rev-parse", "HEAD")
    difference = git(repository, "diff", "HEAD", "--", *others)
    if revision is None or difference is None:
        return {"revision": None, "dirty": None, "diff_sha256": None}
    changes = sha256(difference.encode("utf-8", "surrogateescape")) if difference else None
    return {"revision": revision.strip(), "dirty": bool(difference), "diff_sha256": changes}


@dataclass(frozen=True)
class Run:
    """A stage's run, from when it begins: `facts` are what it is known by, and its id is their digest."""

    folder: Path
    repository: Path
    outs: tuple[str, ...]
    started: float
    facts: dict[str, Any]

    @classmethod
    def begin(
        cls, stage: str, folder: Path, repository: Path, params: Mapping[str, Any], code: Mapping[str, Any]
    ) -> "Run":
        """Looks at the inputs before the stage does: what changes while it runs was not its input. `params` are those
        that the stage depends on, `code` is the code behind it, by module."""
        stages, started = declared(folder), time.time()
        own = find(stage, stages)
        facts = {
            "stage": stage,
            "command": sys.argv,
            "began": _utc(started),
            "host": socket.gethostname(),
            "git": git_state(repository),
            "versions": versions(),
            "params": flat(dict(params)),
            "code": {"digest": digest(code), **code},
            "inputs": Hasher(ignored(repository)).sha256s(folder, own.inputs),
            "parents": _parents(folder, makers_of(own.inputs, stages)),
        }
        return cls(folder, repository, own.outs, started, facts)

    @property
    def id(self) -> str:
        return run_id(self.facts)

    def record(self, executor: str, platform: str | None, cells: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
        """The record of the run, which ends now."""
        outs = tuple(name for name in self.outs if not is_record(name))
        return self.facts | {
            "format_version": RECORD_FORMAT,
            "run": self.id,
            "ended": _utc(time.time()),
            "seconds": round(time.time() - self.started, 3),
            "executor": executor,
            "platform": platform,
            "seeds": seeds,
            "retries": cells.get("retried", 0),
            "cells": cells,
            "outputs": Hasher(ignored(self.repository)).sha256s(self.folder, outs),
        }


def run_id(facts: dict[str, Any]) -> str:
    return sha256(encode_json({name: facts[name] for name in IDENTITY}))


def _parents(folder: Path, stages: set[str]) -> dict[str, str]:
    paths = {stage: folder / RECORDS / f"{stage}.json" for stage in sorted(stages)}
    return {stage: sha256_file(path) for stage, path in paths.items() if path.exists()}


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def cells_of_records(repository: Path) -> set[str]:
    """Keys of the cells that the run records of the repository's experiments name."""
    keys: set[str] = set()
    for folder in (repository, *(path.parent for path in repository.glob("pipelines/**/params.yaml"))):
        for path in folder.glob("artifacts/records/*.json"):
            keys |= {cell["key"] for cell in read_json(path)["cells"].get("cells", [])}
    return keys
