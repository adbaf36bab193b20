"""The figures of what tickets achieve: accuracy against density, and accuracy along retraining."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from awt.report import canvas, numbers
from awt.report.canvas import png
from awt.workflows.tickets.params import Published
from awt.workflows.tickets.reporting import table, words

__all__ = ["accuracy", "has_validation", "perturbations", "png", "retraining"]

_KIND_DASHES = {"natural": (0, (4, 1.5)), "adversarial": (0, ())}


@canvas.style()
def accuracy(results: pd.DataFrame, published: Sequence[Published] = ()) -> Figure:
    """Natural and adversarial accuracy of each method against density, over seeds; dense across it; hollow, what others
    have published."""
    figure, (axes,) = canvas.panels(1, "Accuracy against density", height=4.2)
    rows = table.summary(results)
    sparse, dense = rows[rows["method"] != "dense"], rows[rows["method"] == "dense"]
    for kind, dashes in _KIND_DASHES.items():
        for method, line in sparse.groupby("method"):
            look = canvas.look(str(method))
            axes.errorbar(
                line["density"],
                100 * line[f"{kind}_mean"],
                yerr=100 * line[f"{kind}_spread"],
                color=look.colour,
                marker=look.marker,
                linestyle=dashes,
                elinewidth=1,
            )
        for mean in dense[f"{kind}_mean"]:
            axes.axhline(100 * mean, color=canvas.INK, linestyle=dashes, linewidth=1.2)
    for one in (one for one in published if one.density < 1):
        look = canvas.look(one.method)
        values = [100 * value for value in (one.natural, one.adversarial) if value is not None]
        axes.add_line(_hollow([one.density] * len(values), values, *look))
    _density_axis(axes, sorted(sparse["density"].unique()))
    axes.set_ylabel("accuracy, %")
    others = [_hollow([], [], "#777777", "o", label="published")] if published else []
    canvas.legend(figure, [*_methods(rows), *_kinds(), *others])
    return figure


@canvas.style()
def perturbations(sanity: pd.DataFrame, eps: float) -> Figure:
    """Robust accuracy against ε, of the sparsest tickets and the dense network; lines are means over seeds."""
    figure, (axes,) = canvas.panels(1, "Accuracy against the size of the perturbation", height=3.2)
    sparse = sanity.loc[sanity["method"] != "dense", "density"]
    shown = sanity[(sanity["against"] == "eps") & ((sanity["method"] == "dense") | (sanity["density"] == sparse.min()))]
    for method, rows in shown.groupby("method"):
        line = rows.groupby("x", as_index=False)["adversarial"].mean()
        look = canvas.look(str(method))
        axes.plot(line["x"] / eps, 100 * line["adversarial"], color=look.colour, marker=look.marker)
    axes.axvline(1.0, color="#777777", linestyle=":", linewidth=1.2)
    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.magnitude(value)))
    axes.set_xlabel("size of the perturbation, in ε")
    axes.set_ylabel("accuracy, %")
    canvas.legend(figure, _methods(shown))
    return figure


def _density_axis(axes: Axes, densities: list[float]) -> None:
    axes.set_xscale("log")
    low, high = (densities[0], densities[-1]) if densities else (0.01, 1.0)
    axes.set_xlim(low / 1.25, high * 1.25)
    axes.xaxis.set_major_locator(FixedLocator(densities))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words.density(value)))
    axes.set_xlabel("weights kept")


def _methods(rows: pd.DataFrame) -> list[Line2D]:
    names = sorted(rows["method"].unique(), key=lambda name: (name == "dense", name))
    return [_handle(name, *canvas.look(name)) for name in names]


def _kinds() -> list[Line2D]:
    return [
        Line2D([], [], color="#777777", linestyle=dashes, linewidth=1.5, label=kind)
        for kind, dashes in _KIND_DASHES.items()
    ]


def _handle(label: str, colour: str, marker: str = "") -> Line2D:
    return Line2D([], [], color=colour, marker=marker, label=label)


def _hollow(x: Sequence[float], y: Sequence[float], colour: str, marker: str, **options: Any) -> Line2D:
    return Line2D(x, y, color=colour, marker=marker, linestyle="", markerfacecolor="white", **options)


def has_validation(retrain: pd.DataFrame) -> bool:
    return bool(retrain["validation_adversarial"].notna().any())


@canvas.style()
def retraining(retrain: pd.DataFrame) -> Figure:
    """Adversarial accuracy per epoch: one panel per density, dense in each; lines are means over seeds."""
    # never both in one line: where some epochs were validated, those alone are drawn
    part = "validation" if has_validation(retrain) else "train"
    curves = retrain.groupby(["method", "density", "epoch"], as_index=False)[f"{part}_adversarial"].mean()
    curves = curves.dropna()
    sparse, dense = curves[curves["method"] != "dense"], curves[curves["method"] == "dense"]
    densities = sorted(sparse["density"].unique(), reverse=True) or [1.0]
    figure, panels = canvas.panels(len(densities), "Adversarial accuracy while retraining", height=2.9)
    for axes, density in zip(panels, densities, strict=True):
        here = pd.concat([dense, sparse[sparse["density"] == density]])
        for method, line in here.groupby("method"):
            width = 1.2 if method == "dense" else 1.8
            colour = canvas.look(str(method)).colour
            axes.plot(line["epoch"], 100 * line[f"{part}_adversarial"], color=colour, linewidth=width)
        axes.set_title(f"{words.density(density)} of the weights")
        canvas.epochs(axes)
    for axes in panels[:: canvas.COLUMNS]:
        axes.set_ylabel(f"adversarial accuracy,\n{part} points, %")
    names = sorted(curves["method"].unique(), key=lambda name: (name == "dense", name))
    canvas.legend(figure, [_handle(name, canvas.look(name).colour) for name in names])
    return figure
