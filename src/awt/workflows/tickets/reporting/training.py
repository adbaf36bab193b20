"""The figures of tickets that train beside the dense network: how far apart they go, and whether their layers fit."""

import re
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from awt.report import canvas
from awt.workflows.tickets.reporting import words

_GRAFT = re.compile(r"graft_(dense|sparse)_first_(\d+)")
_PANELS = 4  # densities that grafts are shown of


@canvas.style()
def dynamics(dynamics: pd.DataFrame) -> Figure:
    """Distance of outputs while a ticket and the dense network train, at the lowest density, under its bound."""
    figure, panels = canvas.panels(2, "Distance of outputs while training", height=3.2)
    shown = dynamics[dynamics["density"] == dynamics["density"].min()]
    handles = []
    for method, rows in shown.groupby("method"):
        means = rows.groupby("epoch")[["gap", "gap_adversarial", "bound"]].mean()
        colour = canvas.look(str(method)).colour
        for axes, column in zip(panels, ("gap", "gap_adversarial"), strict=True):
            axes.plot(means.index, canvas.positive(means[column]), color=colour)
            axes.plot(means.index, means["bound"], color=colour, linestyle="--", linewidth=1)
        handles.append(Line2D([], [], color=colour, label=str(method)))
    for axes, name in zip(panels, ("natural points", "attacked points"), strict=True):
        canvas.log_where_positive(axes, shown["bound"])
        axes.set_title(name)
        canvas.epochs(axes)
    canvas.legend(figure, handles)
    return figure


def grafts(dynamics: pd.DataFrame) -> pd.DataFrame:
    """[method, density, first, layers, epoch, increase]: the error of a network that is one up to a layer and the other
    from there on, over that of the worse of the two; means over seeds."""
    keys = ["method", "density", "first", "layers", "epoch"]
    columns = {name: found for name in dynamics.columns if (found := _GRAFT.fullmatch(name))}
    if not columns:  # of a network with one layer
        return pd.DataFrame(columns=[*keys, "increase"])
    worse = 1 - dynamics[["natural_dense", "natural_sparse"]].min(axis=1)
    parts = [
        dynamics[["method", "density", "epoch"]].assign(
            first=found[1], layers=int(found[2]), increase=dynamics[name] - worse
        )
        for name, found in columns.items()
    ]
    return pd.concat(parts).groupby(keys)["increase"].mean().reset_index()


@canvas.style()
def grafting(dynamics: pd.DataFrame) -> Figure:
    """What error grafting adds, by epoch, for each number of layers; a panel a density, of the first method."""
    found = grafts(dynamics)
    found = found[found["method"] == found["method"].iloc[0]]
    densities = sorted(found["density"].unique())[:_PANELS]
    layers = sorted(found["layers"].unique())
    figure, panels = canvas.panels(len(densities), "Error that grafting adds", height=2.9)
    for axes, density in zip(panels, densities, strict=True):
        for (first, number), rows in found[found["density"] == density].groupby(["first", "layers"]):
            axes.plot(rows["epoch"], 100 * rows["increase"], **_graft_line(str(first), layers.index(number)))
        axes.axhline(0, color="#777777", linewidth=0.8)
        axes.set_title(words.density(density))
        canvas.epochs(axes)
    panels[0].set_ylabel("points")
    handles = [
        Line2D([], [], **_graft_line("dense", step), label=words.plural(number, "layer"))
        for step, number in enumerate(layers)
    ]
    handles += [
        Line2D([], [], color=canvas.INK, linestyle=_graft_line(n, 0)["linestyle"], label=f"{n} first")
        for n in ("dense", "sparse")
    ]
    canvas.legend(figure, handles)
    return figure


def _graft_line(first: str, step: int) -> dict[str, Any]:
    return {"color": f"C{step}", "linestyle": "-" if first == "dense" else (0, (4, 1.5))}
