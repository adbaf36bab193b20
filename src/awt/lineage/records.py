"""Run records: when, where and with what a stage ran. Nothing depends on them, so that they may hold times."""

import hashlib
import platform
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from awt.artifacts import FORMAT_VERSION, read_json

PACKAGES = (
    "awt", "dvc", "jax", "jaxlib", "neural-tangents", "numpy", "optax", "orbax-checkpoint", "pandas", "ray",
    "scikit-learn", "scipy",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide results."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def git_state(repository: Path) -> dict[str, Any]:
    """The revision, and whether tracked files other than those that DVC itself touches differ from it."""
    others = [".", ":(exclude,glob)**/dvc.lock", ":(exclude,glob)**/.gitignore"]
    try:
        revision = _git(repository, "rev-parse", "HEAD").decode().strip()
        difference = _git(repository, "diff", "HEAD", "--", *others)
    except (OSError, subprocess.CalledProcessError):
        return {"revision": None, "dirty": None, "diff_sha256": None}
    digest = hashlib.sha256(difference).hexdigest() if difference else None
    return {"revision": revision, "dirty": bool(difference), "diff_sha256": digest}


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=True).stdout


@dataclass
class Stopwatch:
    """The time a stage takes, from when this is made."""

    began: float = field(default_factory=time.time)

    def record(
        self,
        stage: str,
        repository: Path,
        executor: str,
        platform: str | None,
        cells: dict[str, Any],
        seeds: list[int],
    ) -> dict[str, Any]:
        """The record of a stage that ends now."""
        return {
            "format_version": FORMAT_VERSION,
            "stage": stage,
            "command": sys.argv,
            "began": _utc(self.began),
            "ended": _utc(time.time()),
            "seconds": round(time.time() - self.began, 3),
            "host": socket.gethostname(),
            "executor": executor,
            "platform": platform,
            "git": git_state(repository),
            "versions": versions(),
            "seeds": seeds,
            "cells": cells,
        }


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def cells_of_records(repository: Path) -> set[str]:
    """Keys of the cells that the run records of the repository's experiments name."""
    keys: set[str] = set()
    for folder in (repository, *(path.parent for path in repository.glob("pipelines/**/params.yaml"))):
        for path in folder.glob("artifacts/records/*.json"):
            keys |= {cell["key"] for cell in read_json(path)["cells"].get("cells", [])}
    return keys
