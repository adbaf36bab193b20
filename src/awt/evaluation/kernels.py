"""The tangent kernels of an experiment's networks compared: dense against sparse, at initialisation and after training.

Each is the class-traced kernel on the reference subset; METHOD's diagnostics of it are in awt.kernels.diagnostics.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from awt.artifacts import Arrays
from awt.kernels.diagnostics import distance, figures, spectrum
from awt.kernels.tiles import Gram
from awt.names import TicketName

FIGURES = ["distance_to_dense", "distance", "radius", "angle", "concentration", "alignment", "condition",
           "lambda_min", "lambda_max", "trace"]  # fmt: skip
HEATMAP_SIDE = 64


class KernelName(NamedTuple):
    """Which network a kernel is of, and when: "initial" or "trained"."""

    method: str
    density: float
    seed: int
    when: str

    @property
    def folder(self) -> str:
        return f"{TicketName(*self[:3])}-{self.when}"


def table(grams: Mapping[KernelName, Gram], labels: np.ndarray) -> pd.DataFrame:
    """The diagnostics of every kernel. `distance`, `radius` and `angle` are from the same network's initial kernel,
    `distance_to_dense` from the dense network's at the same time (nan in an experiment without it)."""
    rows = []
    for name, gram in grams.items():
        dense = grams.get(KernelName("dense", 1.0, name.seed, name.when))
        found = figures(gram, labels, grams[name._replace(when="initial")])
        found["distance_to_dense"] = np.nan if dense is None else distance(gram, dense)
        rows.append(name._asdict() | found)
    return pd.DataFrame(rows, columns=[*KernelName._fields, *FIGURES])


def spectra(grams: Mapping[KernelName, Gram]) -> pd.DataFrame:
    """Eigenvalues, largest first; of a large kernel the top ones."""
    rows = [
        name._asdict() | {"index": number, "eigenvalue": value}
        for name, gram in grams.items()
        for number, value in enumerate(spectrum(gram, smallest=False).values, start=1)
    ]
    return pd.DataFrame(rows, columns=[*KernelName._fields, "index", "eigenvalue"])


def heatmaps(grams: Mapping[KernelName, Gram], labels: np.ndarray) -> Arrays:
    """Small pictures of the kernels of the first seed, their points in the order of the labels, in means of groups;
    and the label that each group has most of."""
    order = np.argsort(labels, kind="stable")
    groups = np.array_split(order, min(len(order), HEATMAP_SIDE))
    seed = next(iter(grams)).seed
    found: Arrays = {"labels": np.array([np.bincount(labels[group]).argmax() for group in groups])}
    for name, gram in grams.items():
        if name.seed == seed:
            found[name.folder] = _means(gram, order, groups).astype(np.float32)
    return found


def _means(gram: Gram, order: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """The mean of the kernel between each two groups, a row of tiles at a time."""
    sizes = np.array([len(group) for group in groups])
    first, group_of = np.cumsum(sizes) - sizes, np.empty(len(order), int)
    group_of[order] = np.repeat(np.arange(len(groups)), sizes)
    sums = np.zeros((len(groups), len(groups)))
    for start in range(0, len(order), gram.index.side):
        stop = min(start + gram.index.side, len(order))
        rows = gram.rows(start, stop)[:, order]
        np.add.at(sums, group_of[start:stop], np.add.reduceat(rows, first, axis=1, dtype=np.float64))
    return sums / np.outer(sizes, sizes)
