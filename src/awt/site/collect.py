"""The experiments of a repository: its root, and every folder of pipelines/ with a params.yaml."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from awt import params
from awt.artifacts import read_csv, read_json
from awt.errors import InputError
from awt.params import Params

ROOT = "default"  # what the experiment of the repository's root is called


@dataclass(frozen=True)
class Experiment:
    """An experiment that has run to its page."""

    name: str
    title: str
    folder: Path
    params: Params
    dataset: dict[str, Any]
    results: pd.DataFrame  # by method, density and seed
    table: pd.DataFrame  # over seeds

    @property
    def kinds(self) -> tuple[str, ...]:
        """The accuracies that its table has."""
        return tuple(str(name).removesuffix("_mean") for name in self.table.columns if str(name).endswith("_mean"))

    @property
    def files(self) -> list[str]:
        """What goes with its page, where it keeps its place, so that links hold: the page, and the run records."""
        records = sorted((self.folder / "artifacts" / "records").glob("*.json"))
        return ["report/index.html", *(str(path.relative_to(self.folder)) for path in records)]


def experiments(repository: Path) -> list[Experiment]:
    """Those with a page, the root's first, then by name."""
    return [_read(repository, folder) for folder in _folders(repository) if _has_page(folder)]


def not_run(repository: Path) -> list[str]:
    return [_name(repository, folder) for folder in _folders(repository) if not _has_page(folder)]


def _folders(repository: Path) -> Iterator[Path]:
    if not (repository / "pipelines").is_dir():
        raise InputError(f"{repository} is no repository of awt: it has no folder pipelines/")
    yield repository
    yield from sorted(path.parent for path in (repository / "pipelines").rglob("params.yaml"))


def _has_page(folder: Path) -> bool:
    return (folder / "report" / "index.html").exists()


def _name(repository: Path, folder: Path) -> str:
    return ROOT if folder == repository else folder.relative_to(repository / "pipelines").as_posix()


def _read(repository: Path, folder: Path) -> Experiment:
    name = _name(repository, folder)
    return Experiment(
        name,
        _title(folder / "README.md", name) if folder != repository else "The default experiment",
        folder,
        params.load(folder / "params.yaml"),
        read_json(folder / "artifacts" / "data" / "dataset.json"),
        read_csv(folder / "artifacts" / "plots" / "results.csv"),
        read_csv(folder / "report" / "table.csv"),
    )


def _title(readme: Path, name: str) -> str:
    """The heading of its README."""
    lines = readme.read_text(encoding="utf-8").splitlines() if readme.exists() else []
    return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), name)
