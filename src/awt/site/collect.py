"""The experiments of a repository: its root, and every folder of pipelines/ with a params.yaml."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from awt.artifacts import read_csv, read_json
from awt.errors import InputError
from awt.workflows.experiment import experiment
from awt.workflows.tickets.params import Params
from awt.workflows.workflow import RECORDS

ROOT = "default"  # what the experiment of the repository's root is called
PAGE = "report/index.html"


@dataclass(frozen=True)
class Results:
    """What came out of an experiment on tickets."""

    params: Params
    dataset: dict[str, Any]
    rows: pd.DataFrame  # by method, density and seed
    table: pd.DataFrame  # over seeds

    @property
    def kinds(self) -> tuple[str, ...]:
        """The accuracies that its table has."""
        return tuple(str(name).removesuffix("_mean") for name in self.table.columns if str(name).endswith("_mean"))


@dataclass(frozen=True)
class Shown:
    """An experiment that has run to its page; of other workflows than tickets, only that page is shown."""

    name: str
    title: str
    folder: Path
    results: Results | None

    @property
    def files(self) -> list[str]:
        """What goes with its page, where it keeps its place, so that links hold: the page, and the run records."""
        records = sorted((self.folder / RECORDS).glob("*.json"))
        return [PAGE, *(str(path.relative_to(self.folder)) for path in records)]


def experiments(repository: Path) -> list[Shown]:
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
    return (folder / PAGE).exists()


def _name(repository: Path, folder: Path) -> str:
    return ROOT if folder == repository else folder.relative_to(repository / "pipelines").as_posix()


def _read(repository: Path, folder: Path) -> Shown:
    name = _name(repository, folder)
    title = _title(folder / "README.md", name) if folder != repository else "The default experiment"
    params = experiment(folder).params
    return Shown(name, title, folder, _results(folder, params) if isinstance(params, Params) else None)


def _results(folder: Path, params: Params) -> Results:
    return Results(
        params,
        read_json(folder / "artifacts" / "data" / "dataset.json"),
        read_csv(folder / "artifacts" / "plots" / "results.csv"),
        read_csv(folder / "report" / "table.csv"),
    )


def _title(readme: Path, name: str) -> str:
    """The heading of its README."""
    lines = readme.read_text(encoding="utf-8").splitlines() if readme.exists() else []
    return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), name)
