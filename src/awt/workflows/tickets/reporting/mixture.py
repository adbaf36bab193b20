"""The table of linear classifiers of the Gaussian mixture, in closed form, beside the published one."""

from collections.abc import Sequence

import pandas as pd

from awt.workflows.tickets.params import Published
from awt.workflows.tickets.reporting import words

HEADS = (
    "kept", "classifier", "coordinates", "accuracy", "angle", "cosine", "1 − p adv", "right and robust", "published",
)  # fmt: skip
LEGEND = (
    "In closed form, means over seeds. Angle (radians) and cosine: between the classifier and the line through the two "
    "means. 1 − p adv: the share that a perturbation of size ε does not make wrong, as the paper counts, points that "
    "were wrong before included; right and robust: without those. Published: cosine / 1 − p adv."
)
_SHOWN = ["coordinates", "accuracy", "angle", "cosine", "robustness", "withstands"]


def summary(mixture: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds: the best first, by the paper's robustness."""
    means = mixture.sort_values("seed").groupby(["method", "density"])[_SHOWN].mean().reset_index()
    return means.sort_values(["robustness", "method"], ascending=[False, True])


def cells(row: "pd.Series", published: Sequence[Published]) -> list[str]:
    """A row of the summary as words."""
    known = next((one for one in published if (one.method, one.density) == (row["method"], row["density"])), None)
    said = [known.cosine, known.robustness] if known else []
    return [
        words.density(row["density"]),
        str(row["method"]),
        f"{row['coordinates']:.0f}",
        *(f"{row[name]:.3f}" for name in _SHOWN[1:]),
        " / ".join(f"{value:.3f}" for value in said if value is not None) or "–",
    ]
