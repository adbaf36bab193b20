"""The figures of how tickets are found: the search's curves, and where weights stay."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from awt.report import canvas
from awt.workflows.tickets.reporting import words

_DISTANCES = {"target_distance": "target distance", "kernel_distance": "kernel distance"}
_SHARES = {"accuracy": "accuracy, %", "changed": "kept weights changed, %"}


class _Curve(NamedTuple):
    """One method at one density, averaged over seeds: a row per epoch, and how it is drawn."""

    rows: pd.DataFrame
    line: dict[str, Any]


def _curves(search: pd.DataFrame) -> Iterator[_Curve]:
    densities = sorted(search["density"].unique(), reverse=True)
    for density in densities:
        for method, runs in search[search["density"] == density].groupby("method"):
            step = densities.index(density)
            label = f"{method}, {words.density(density)}"
            colour = canvas.shade(canvas.look(str(method)).colour, step, len(densities))
            yield _Curve(_over_seeds(runs), {"color": colour, "linestyle": canvas.dashes(step), "label": label})


def _over_seeds(runs: pd.DataFrame) -> pd.DataFrame:
    groups = runs.groupby("epoch")
    rows = groups[["accuracy", "target_distance", "kernel_distance", "changed"]].mean()
    errors = runs["kernel_distance_error"].pow(2).groupby(runs["epoch"])
    # seeds draw their probes apart, so the error of their mean adds in squares
    rows["kernel_distance_error"] = np.sqrt(errors.sum()) / groups.size()
    return rows


def _handles(curves: list[_Curve]) -> list[Line2D]:
    return [Line2D([], [], **curve.line) for curve in curves]


@canvas.style()
def distances(search: pd.DataFrame) -> Figure:
    """Target and kernel distance per epoch of the search, with the estimate's error as a band."""
    figure, panels = canvas.panels(2, "Distance of the sparse network from the dense one", height=3.2)
    curves = list(_curves(search))
    _bands(panels[1], curves)
    for axes, (column, name) in zip(panels, _DISTANCES.items(), strict=True):
        for curve in curves:
            axes.plot(curve.rows.index, canvas.positive(curve.rows[column]), **curve.line)
        canvas.log_where_positive(axes, search[column])
        axes.set_title(name)
        canvas.epochs(axes)
    canvas.legend(figure, _handles(curves))
    return figure


def _bands(axes: Axes, curves: list[_Curve]) -> None:
    """The error of each kernel distance, cut below every mean: a log scale has no room for zero."""
    floor = 0.5 * min(canvas.positive(curve.rows["kernel_distance"]).min() for curve in curves)
    for curve in curves:
        mean, error = canvas.positive(curve.rows["kernel_distance"]), curve.rows["kernel_distance_error"]
        low, high = (mean - error).clip(lower=floor), mean + error
        axes.fill_between(curve.rows.index, low, high, color=curve.line["color"], alpha=0.22, linewidth=0)


@canvas.style()
def changes(search: pd.DataFrame) -> Figure:
    """The searching network's accuracy, and the share of the mask's entries that changed, by epoch of the search."""
    figure, panels = canvas.panels(2, "The network while searching", height=2.9)
    curves = list(_curves(search))
    for axes, (column, name) in zip(panels, _SHARES.items(), strict=True):
        for curve in curves:
            axes.plot(curve.rows.index, 100 * curve.rows[column], **curve.line)
        axes.set_ylim(bottom=0)
        axes.set_title(name)
        canvas.epochs(axes)
    canvas.legend(figure, _handles(curves))
    return figure


def layer_curves(search: pd.DataFrame) -> pd.DataFrame:
    """[method and epoch, layer]: share kept at the lowest density, means over seeds."""
    lowest = search[search["density"] == search["density"].min()]
    names = [name for name in search.columns if name.startswith("kept ")]
    found = lowest.groupby(["method", "epoch"])[sorted(names, key=_natural)].mean()
    return found.rename(columns=lambda name: name.removeprefix("kept "))


@canvas.style()
def layers_while_searching(search: pd.DataFrame) -> Figure:
    """Density of each layer per epoch of the search, one panel a method."""
    curves = layer_curves(search)
    methods = list(dict.fromkeys(curves.index.get_level_values("method")))
    figure, panels = canvas.panels(len(methods), "Density of each layer while searching", height=2.9)
    count = len(curves.columns)
    lines: list[dict[str, Any]] = [
        {"color": canvas.shade(canvas.INK, number, count), "linestyle": canvas.dashes(number)}
        for number in range(count)
    ]
    for axes, method in zip(panels, methods, strict=True):
        rows = curves.loc[method]
        for name, line in zip(curves.columns, lines, strict=True):
            axes.plot(rows.index, 100 * rows[name], **line)
        canvas.log_where_positive(axes, rows.stack())
        axes.set_title(method)
        canvas.epochs(axes)
    for axes in panels[:: canvas.COLUMNS]:
        axes.set_ylabel("weights kept, %")
    names = zip(curves.columns, lines, strict=True)
    canvas.legend(figure, [Line2D([], [], label=name, **line) for name, line in names])
    return figure


@canvas.style()
def layers(masks: Sequence[dict[str, Any]]) -> Figure:
    """Density of each layer, one row per ticket, means over seeds."""
    shares = layer_densities(masks)
    figure, (axes,) = canvas.panels(1, "Density of each layer, %", height=0.5 + 0.3 * len(shares))
    values = shares.to_numpy(dtype=float)
    drawn = np.ma.masked_invalid(np.where(values > 0, values, np.nan))
    scale = LogNorm(vmin=0.5 * float(drawn.min()), vmax=1.0)
    axes.pcolormesh(drawn, norm=scale, cmap="Blues", edgecolors="white", linewidth=1.5)
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            ink = "white" if value > 0 and scale(value) > 0.6 else canvas.INK
            axes.text(column + 0.5, row + 0.5, f"{100 * value:.3g}", ha="center", va="center", color=ink)
    _label_cells(axes, shares)
    return figure


def _label_cells(axes: Axes, shares: pd.DataFrame) -> None:
    names = [f"{method}, {words.density(density)}" for density, method in shares.index]
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    turn = 0 if len(shares.columns) <= 8 else 90
    axes.set_xticks(np.arange(len(shares.columns)) + 0.5, list(shares.columns), rotation=turn)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts dense_2 before dense_10; the network's own order is lost in JSON, whose keys are sorted."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def layer_densities(masks: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """[density and method, layer]: kept / size, means over seeds, densest first, without `dense`."""
    rows = [
        {
            "density": mask["density"],
            "method": mask["method"],
            "layer": name,
            "share": layer["kept"] / layer["size"],
        }
        for mask in sorted(masks, key=lambda mask: int(mask["seed"]))
        if mask["method"] != "dense"
        for name, layer in mask["layers"].items()
    ]
    if not rows:
        return pd.DataFrame()
    order = sorted({row["layer"] for row in rows}, key=_natural)
    means = pd.DataFrame(rows).groupby(["density", "method", "layer"])["share"].mean().unstack("layer")[order]
    return means.sort_index(level=["density", "method"], ascending=[False, True])
