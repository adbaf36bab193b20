"""The networks' tangent kernels before and after training: heat maps, spectra, rotation, and a table of figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from awt.artifacts import Arrays
from awt.report import canvas, numbers
from awt.workflows.tickets.reporting import words

MEANS = ["distance_to_dense", "concentration", "alignment", "condition", "lambda_min"]
_LINES: dict[str, dict[str, Any]] = {
    "initial": {"linestyle": (0, (4, 1.5)), "linewidth": 1.1},
    "trained": {"linestyle": "solid", "linewidth": 1.8},
}
_START: dict[str, Any] = {"color": canvas.INK, "marker": "*", "markersize": 11, "linestyle": "none"}
_ACROSS = 4  # heat maps in a row


def sparsest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the dense network, and of every method at the lowest density."""
    dense = rows["method"] == "dense"
    return rows[dense | (rows["density"] == rows.loc[~dense, "density"].min())]


def summary(kernels: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, one row per density, method and time, densest first; a nan or inf of any seed shows in them."""
    means = kernels.sort_values("seed").groupby(["density", "method", "when"])[MEANS].agg(_mean)
    return means.sort_index(ascending=[False, True, True]).reset_index()


def _mean(values: pd.Series) -> float:
    """Unlike pandas' own, nan where any value is."""
    return float(np.mean(values.to_numpy()))


def cells(row: "pd.Series") -> tuple[str, ...]:
    """A row of the summary as words: density, method, when, then the means."""
    shown = [words.decimal(row[name]) for name in MEANS[:3]] + [numbers.scientific(row[name]) for name in MEANS[3:]]
    return (words.density(row["density"]), str(row["method"]), str(row["when"]), *shown)


def pictures(kernels: pd.DataFrame, heatmaps: Arrays) -> dict[str, Arrays]:
    """The heat maps of the sparsest networks, by method and then by time, in units of the mean of their diagonals."""
    found: dict[str, Arrays] = {}
    for method, density, seed, when in sparsest(kernels)[["method", "density", "seed", "when"]].itertuples(index=False):
        picture = heatmaps.get(f"{method}-{density:.12g}-seed{seed}-{when}")
        if picture is not None:
            found.setdefault(method, {})[when] = _in_units_of_diagonal(picture)
    return {method: found[method] for method in _dense_first(found)}


def _in_units_of_diagonal(picture: np.ndarray) -> np.ndarray:
    unit = np.diagonal(picture).mean(dtype=np.float64)
    return picture / unit if unit > 0 else np.full(picture.shape, np.nan)


def _dense_first(methods: Iterable[str]) -> list[str]:
    return sorted(set(methods), key=lambda name: (name != "dense", name))


@canvas.style()
def heatmaps(shown: Mapping[str, Arrays], labels: np.ndarray) -> Figure:
    """A column per method, initial above trained; methods beyond a row's width go on below. One scale of colours."""
    columns, blocks = min(len(shown), _ACROSS), -(-len(shown) // _ACROSS)
    figure, grid = canvas.grid(2 * blocks, columns, "Tangent kernels between points, by class", height=1.65)
    scale = _scale([picture for times in shown.values() for picture in times.values()])
    for number, (method, times) in enumerate(shown.items()):
        block, column = divmod(number, columns)
        pair = grid[2 * block : 2 * block + 2, column]
        pair[0].set_title(method)
        for axes, when in zip(pair, _LINES, strict=True):
            axes.set_ylabel("" if column else when)
            image = _heatmap(axes, times[when], labels, scale)
    for axes in grid.flat:
        if not axes.images:
            axes.remove()
    figure.colorbar(image, ax=figure.axes, location="bottom", aspect=45, label="kernel / mean of its diagonal")
    return figure


def _scale(pictures: Sequence[np.ndarray]) -> Normalize:
    """From the lowest value to nearly the highest: a few bright points would leave all else dark."""
    values = np.concatenate([picture[np.isfinite(picture)] for picture in pictures])
    return Normalize(*np.percentile(values, (0, 99))) if len(values) else Normalize(0, 1)


def _heatmap(axes: Axes, picture: np.ndarray, labels: np.ndarray, scale: Normalize) -> AxesImage:
    image = axes.imshow(np.ma.masked_invalid(picture), norm=scale, cmap="viridis", interpolation="none")
    for border in np.flatnonzero(np.diff(labels)) + 0.5:
        axes.axhline(border, color="white", linewidth=0.4)
        axes.axvline(border, color="white", linewidth=0.4)
    axes.grid(visible=False)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    return image


@canvas.style()
def spectra(spectra: pd.DataFrame) -> Figure:
    """Eigenvalues by rank, means over seeds, of the dense network and of every method at the lowest density."""
    figure, (axes,) = canvas.panels(1, "Eigenvalues of the tangent kernels", height=3.6)
    runs = sparsest(spectra).sort_values("seed").groupby(["method", "when", "index"], as_index=False)
    drawn = runs["eigenvalue"].mean().query("eigenvalue > 0")
    for (method, when), line in drawn.groupby(["method", "when"]):
        axes.plot(line["index"], line["eigenvalue"], color=canvas.look(method).colour, **_LINES[when])
    for side in ("x", "y"):
        canvas.logarithmic(axes, side)
    axes.set_xlabel("rank")
    axes.set_ylabel("eigenvalue")
    methods = [Line2D([], [], color=canvas.look(name).colour, label=name) for name in _dense_first(drawn["method"])]
    times = [Line2D([], [], color="#777777", label=when, **line) for when, line in _LINES.items()]
    canvas.legend(figure, [*methods, *times])
    return figure


def turns(kernels: pd.DataFrame) -> pd.DataFrame:
    """[method and density]: radius and angle of the trained kernel from its initial one, means over seeds, if known."""
    trained = kernels[kernels["when"] == "trained"].sort_values("seed")
    return trained.groupby(["method", "density"])[["radius", "angle"]].agg(_mean).query("radius > 0")


@canvas.style()
def rotation(turns: pd.DataFrame) -> Figure:
    """Where training took each kernel from its start at radius 1 and angle 0: a line per method over its densities."""
    figure, grid = canvas.grid(1, 1, "Growth and turn of the kernels", 4.8, subplot_kw={"projection": "polar"})
    axes = grid[0, 0]
    axes.plot(0, 0, clip_on=False, **_START)
    densities = sorted(set(turns.index.get_level_values("density")), reverse=True)
    for method in (methods := _dense_first(turns.index.get_level_values("method"))):
        path = turns.loc[method].sort_index(ascending=False)
        axes.plot(path["angle"], np.log10(path["radius"]), color=canvas.look(method).colour, linewidth=1)
        for density, (radius, angle) in path.iterrows():
            shade = canvas.shade(canvas.look(method).colour, densities.index(density), len(densities))
            axes.plot(angle, np.log10(radius), clip_on=False, **_mark(method) | {"color": shade})
    # kernels are positive semidefinite: none turns by more than a right angle, and most by far less
    widest = 45 if turns["angle"].max() < np.pi / 4 else 90
    axes.set_thetalim(0, np.radians(widest))
    axes.set_thetagrids(range(0, widest + 1, 15))
    _log_radius(axes, np.log10(turns["radius"]))
    marks = {"start": _START} | {method: _mark(method) for method in methods}
    canvas.legend(figure, [Line2D([], [], label=name, **mark) for name, mark in marks.items()])
    return figure


def _mark(method: str) -> dict[str, Any]:
    return {"color": canvas.look(method).colour, "marker": canvas.look(method).marker or "o", "linewidth": 1}


def _log_radius(axes: Any, exponents: pd.Series) -> None:
    """The radius in powers of ten; the pole, where it would be 0, is a decade within the lowest that is drawn."""
    low, high = min(0.0, exponents.min()) - 0.15, max(0.5, exponents.max()) + 0.15
    axes.set_rlim(low, high)
    axes.set_rorigin(low - 1)
    axes.set_rticks(np.arange(np.ceil(low), np.floor(high) + 1))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda exponent, _: numbers.magnitude(10**exponent)))
