"""The table of accuracies: one row per method and density, over seeds, as data and as text for a terminal."""

from collections.abc import Sequence

import pandas as pd

from awt import artifacts
from awt.workflows.tickets.reporting import words

KINDS = ("natural", "adversarial")
MARK = "⚠"


def summary(results: pd.DataFrame, kinds: Sequence[str] = KINDS) -> pd.DataFrame:
    """Mean, sample standard deviation, worst and best seed of each method at each density, for kinds of accuracy.

    Densest first; at one density `dense` first, then by name. The spread of a single seed is 0.
    """
    # sorted, so that the order in which cells finished cannot show in a sum's last digit
    groups = results.sort_values("seed").groupby(["method", "density"])
    columns = {}
    for kind in kinds:
        values = groups[kind]
        columns[f"{kind}_mean"] = values.mean()
        columns[f"{kind}_spread"] = values.std(ddof=1).fillna(0.0)
        columns[f"{kind}_worst"] = values.min()
        columns[f"{kind}_best"] = values.max()
    columns["seeds"] = groups["seed"].nunique()
    columns["trains_all"] = groups["trains_all"].any()
    columns["flagged"] = groups["flags"].agg(lambda flags: bool(flags.fillna("").str.len().any()))
    return _ordered(pd.DataFrame(columns).reset_index())


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    keyed = table.assign(_sparse=table["method"] != "dense")
    keyed = keyed.sort_values(["density", "_sparse", "method"], ascending=[False, True, True])
    return keyed.drop(columns="_sparse").reset_index(drop=True)


def winners(table: pd.DataFrame) -> pd.Series:
    """Whether a row's adversarial mean is the best of its density; nothing wins where nothing competes, nor a network
    that is dense after all."""
    sparse = table["adversarial_mean"].where(~table["trains_all"])
    rivals = sparse.groupby(table["density"])
    return (sparse == rivals.transform("max")) & (rivals.transform("count") > 1)


def csv(table: pd.DataFrame) -> bytes:
    """A summary as a file: shares in 0..1, unrounded."""
    return artifacts.encode_csv(table)


def text(table: pd.DataFrame) -> str:
    """A summary as aligned plain text, in percent."""
    heads = ("density", "method", *_kinds(table.columns), "worst – best", "seeds")
    rows = [heads, *(cells(row) for _, row in table.iterrows())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return "\n".join(_aligned(row, widths) for row in rows) + "\n"


def cells(row: "pd.Series") -> tuple[str, ...]:
    """A row of a summary as words: density, method, accuracies, worst – best seed under the first suite, seeds."""
    named = f"{row['method']} (dense)" if row["trains_all"] else str(row["method"])
    return (
        words.density(row["density"]),
        f"{named} {MARK}" if row["flagged"] else named,
        *(words.accuracy(row[f"{kind}_mean"], row[f"{kind}_spread"], row["seeds"]) for kind in _kinds(row.index)),
        f"{words.percent(row['adversarial_worst'])} – {words.percent(row['adversarial_best'])}",
        str(row["seeds"]),
    )


def _kinds(columns: "pd.Index") -> list[str]:
    return [str(name).removesuffix("_mean") for name in columns if str(name).endswith("_mean")]


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    density, method, *numbers = row
    padded = [density.rjust(widths[0]), method.ljust(widths[1])]
    padded += [number.rjust(width) for number, width in zip(numbers, widths[2:], strict=True)]
    return "  ".join(padded)
