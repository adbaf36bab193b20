"""Figures that others have published, beside ours: nothing of it is computed here."""

import math
from collections.abc import Sequence

import pandas as pd

from awt.workflows.tickets.params import Published
from awt.workflows.tickets.reporting import words

HEADS = ("kept", "method", "accuracy", "published, %", "here, %", "difference")


def beside(published: Sequence[Published], rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each published accuracy: density, method, kind, published, here, and their difference; `here` is nan
    where a summary has nothing to compare."""
    found = []
    for one in published:
        ours = rows[(rows["method"] == one.method) & (rows["density"] == one.density)]
        for kind in ("natural", "adversarial"):
            if (value := getattr(one, kind)) is not None:
                here = float(ours[f"{kind}_mean"].iloc[0]) if len(ours) else math.nan
                found.append((one.density, one.method, kind, value, here, here - value))
    return pd.DataFrame(found, columns=["density", "method", "kind", "published", "here", "difference"])


def cells(row: "pd.Series") -> list[str]:
    here = "–" if math.isnan(row["here"]) else words.percent(row["here"])
    difference = "–" if math.isnan(row["difference"]) else f"{100 * row['difference']:+.1f}".replace("-", "−")
    return [
        words.density(row["density"]),
        row["method"],
        row["kind"],
        f"{100 * row['published']:.2f}",
        here,
        difference,
    ]
