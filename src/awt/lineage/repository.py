"""The repository: git's answers, where its experiments are, and which of their tickets the user means."""

import difflib
import math
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from awt.errors import InputError


def ticket(
    masks: Sequence[dict[str, Any]],
    method: str,
    density: float | None,
    options: tuple[str, str] = ("--method", "--density"),
) -> dict[str, Any]:
    """The one ticket of a method and density; messages name the options that they were given with."""
    methods = sorted({mask["method"] for mask in masks})
    if method not in methods:
        close = difflib.get_close_matches(method, methods, n=1)
        hint = f"; did you mean `{close[0]}`?" if close else ""
        raise InputError(f"{options[0]}: the experiment has no {method!r}, only {', '.join(methods)}{hint}")
    tickets = [mask for mask in masks if mask["method"] == method]
    chosen = [mask for mask in tickets if density is None or math.isclose(mask["density"], density)]
    if len(chosen) != 1:
        given = "is needed" if density is None else f"{density:g} is not there"
        there = ", ".join(f"{mask['density']:g}" for mask in tickets)
        raise InputError(f"{options[1]}: {given}; the tickets of {method} have {there}")
    return chosen[0]


def find_repository(start: Path) -> Path:
    """The folder, this one or one above it, with the pipeline; experiments have only links to it."""
    for folder in (start, *start.parents):
        pipeline = folder / "dvc.yaml"
        if pipeline.is_file() and not pipeline.is_symlink() and (folder / "stages").is_dir():
            return folder
    raise InputError(f"{start} lies in no repository of awt (a folder with dvc.yaml and stages/): go to one first")


def experiment_folders(repository: Path) -> Iterator[Path]:
    """The folders with a dvc.lock: the root's, then those in pipelines/."""
    if (repository / "dvc.lock").exists():
        yield repository
    yield from sorted(path.parent for path in (repository / "pipelines").rglob("dvc.lock"))


def git(repository: Path, *words: str) -> str | None:
    """What git answers, None if it refuses or is not there."""
    try:
        done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")  # a difference may have bytes of any kind
