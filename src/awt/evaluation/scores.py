"""From per-point predictions to accuracies: natural, and under the worst of the restarts."""

from typing import Any

import numpy as np
import pandas as pd

from awt.artifacts import Arrays

RESULTS = ["method", "density", "seed", "trains_all", "natural", "adversarial", "points"]


def join(chunks: list[Arrays]) -> Arrays:
    """The chunks of one network's test points as one."""
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def score(points: Arrays) -> dict[str, float]:
    """A point counts as robust when it is right unperturbed and no restart breaks it."""
    right = points["natural"] == points["label"]
    unbroken = (points["adversarial"] == points["label"][:, None]).all(axis=1)
    return {
        "natural": float(right.mean()),
        "adversarial": float((right & unbroken).mean()),
        "points": len(right),
    }


def metrics(results: pd.DataFrame) -> dict[str, Any]:
    """For `dvc metrics`: table.<method>.<density>.<natural|adversarial>, means over seeds."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for (method, density), rows in results.groupby(["method", "density"], sort=True):
        means = {name: float(rows[name].mean()) for name in ("natural", "adversarial")}
        table.setdefault(str(method), {})[f"{density:.12g}"] = means
    return {"table": table}
