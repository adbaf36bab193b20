"""From what broke each point to accuracies: natural, and under each suite of attacks; with confidence intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from awt.artifacts import Arrays
from awt.attacks.outcome import NATURAL, STANDING

RESULTS = ["method", "density", "seed", "trains_all", "natural", "adversarial", "points", "flags"]
_SCORE = 1.959964  # standard deviations to each side that hold 95 % of a normal distribution


def join(chunks: list[Arrays]) -> Arrays:
    """The chunks of one network's test points as one."""
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def points_of(suites: dict[str, Arrays]) -> Arrays:
    """One network's test points under every suite: point, label, <suite>/by and <suite>/size."""
    first = next(iter(suites.values()))
    found = {name: first[name] for name in ("point", "label")}
    return found | {f"{suite}/{name}": arrays[name] for suite, arrays in suites.items() for name in ("by", "size")}


def score(points: Arrays, suites: Sequence[str]) -> dict[str, Any]:
    """Natural accuracy and the share that each suite left standing, the first suite's as `adversarial`."""
    standing = {suite: points[f"{suite}/by"] == STANDING for suite in suites}
    number = len(points["label"])
    shares = {"natural": float((points[f"{suites[0]}/by"] != NATURAL).mean()), "points": number}
    for column, suite in zip(columns(suites), suites, strict=True):
        low, high = wilson(int(standing[suite].sum()), number)
        shares |= {column: float(standing[suite].mean()), f"{column}_low": low, f"{column}_high": high}
    return shares


def columns(suites: Sequence[str]) -> list[str]:
    """The columns of a table of results that the suites fill."""
    return ["adversarial", *suites[1:]]


def wilson(hits: int, number: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share, after Wilson."""
    share, square = hits / number, _SCORE**2 / number
    middle = (share + square / 2) / (1 + square)
    reach = _SCORE / (1 + square) * np.sqrt(share * (1 - share) / number + square / (4 * number))
    # at the ends exactly, which rounding may miss
    return 0.0 if hits == 0 else float(middle - reach), 1.0 if hits == number else float(middle + reach)


def flags(points: Arrays, suite: str, attacks: Sequence[str]) -> list[str]:
    """That the gradient-free attack breaks what gradients could not."""
    if "square" not in attacks[1:]:
        return []
    by_square = points[f"{suite}/by"] == attacks.index("square")
    return ["Square breaks what gradients do not"] if by_square.mean() > 0.01 else []


def metrics(results: pd.DataFrame, suites: Sequence[str]) -> dict[str, Any]:
    """For `dvc metrics`: table.<method>.<density>.<natural|adversarial|…>, means over seeds."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for (method, density), rows in results.groupby(["method", "density"], sort=True):
        means = {name: float(rows[name].mean()) for name in ("natural", *columns(suites))}
        table.setdefault(str(method), {})[f"{density:.12g}"] = means
    return {"table": table}
