"""How every figure looks and becomes bytes: one style, one look per method, axes, SVG and PNG."""

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from awt.report import numbers

INK = "#222222"
_STYLE = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "errorbar.capsize": 2.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "svg.fonttype": "none",
    "svg.hashsalt": "awt",
}
COLUMNS = 3  # of a figure of small multiples
_WIDTH = 6.4  # inches: at 10 points, text stays readable on a phone and is not huge on a screen


class Look(NamedTuple):
    colour: str
    marker: str


# Okabe and Ito's colours, which colour-blind readers tell apart, without the yellow that white swallows
_LOOKS = {
    "dense": Look(INK, ""),
    "awt": Look("#0072b2", "o"),
    "random": Look("#d55e00", "s"),
    "magnitude": Look("#009e73", "^"),
}
_SPARE = [Look("#cc79a7", "D"), Look("#e69f00", "v"), Look("#56b4e9", "P"), Look("#7a5195", "X")]
_DASHES: list[tuple[float, tuple[float, ...]]] = [
    (0, ()),
    (0, (5, 1.5)),
    (0, (1, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
]


def look(method: str) -> Look:
    """The same colour and marker in every figure; a method not named here has a spare one, by its name."""
    return _LOOKS.get(method) or _SPARE[zlib.crc32(method.encode()) % len(_SPARE)]


def shade(colour: str, step: int, steps: int) -> str:
    """One of several tints of a colour: step 0 is the colour itself, later ones are lighter."""
    white = 0.5 * step / max(steps - 1, 1)
    red, green, blue = ((1 - white) * part + white for part in to_rgb(colour))
    return str(to_hex((red, green, blue)))


def dashes(step: int) -> tuple[float, tuple[float, ...]]:
    return _DASHES[step % len(_DASHES)]


@contextmanager
def style() -> Iterator[None]:
    """matplotlib's own defaults and ours: a matplotlibrc of the machine must not show in the bytes."""
    with matplotlib.style.context(["default", _STYLE]):
        yield


def panels(count: int, title: str, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """A figure of `count` axes, at most COLUMNS in a row; three or more share their y scale."""
    columns = min(count, COLUMNS)
    figure, axes_grid = grid(-(-count // columns), columns, title, height, sharey=count > 2)
    axes: list[Axes] = list(axes_grid.flat)
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def grid(rows: int, columns: int, title: str, height: float, **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure of [rows, columns] axes, each row of a height in inches; options are matplotlib's, for its subplots."""
    figure = Figure(figsize=(_WIDTH, 0.5 + height * rows), layout="constrained")
    figure.suptitle(title, x=0.012, ha="left")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    """Below the axes, from the left: what a phone shows of a wide figure first. A long one makes the figure longer."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = min(len(handles), max(1, 62 // (longest + 5)))  # about 62 letters a line, 5 of them the sample
    # matplotlib fills column by column; a legend is read row by row
    ordered = [handle for column in range(columns) for handle in handles[column::columns]]
    figure.legend(handles=ordered, loc="outside lower left", ncols=columns)
    rows = -(-len(handles) // columns)
    figure.set_figheight(figure.get_figheight() + 0.21 * max(0, rows - 4))


def epochs(axes: Axes) -> None:
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))


def logarithmic(axes: Axes, side: str) -> None:
    """A log scale with plain numbers at its ticks, and enough of them where it spans little."""
    axis = axes.xaxis if side == "x" else axes.yaxis
    (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    low, high = sorted(axes.get_xlim() if side == "x" else axes.get_ylim())
    decades = np.log10(high / low)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: numbers.magnitude(value)))
    axis.set_minor_formatter(NullFormatter())


def positive(values: pd.Series) -> pd.Series:
    """What a log scale can show; gaps for the rest."""
    return values.where(values > 0)


def log_where_positive(axes: Axes, values: pd.Series) -> None:
    if (values > 0).any():
        logarithmic(axes, "y")


@style()
def svg(figure: Figure, name: str) -> str:
    """A figure as an <svg> element for an HTML page; `name` keeps its ids apart from other figures'."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue().decode()
    text = text[text.index("<svg") :].rstrip()
    # a <style> in an inline SVG is the whole page's, so the page's own style has this rule instead
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r'(<image [^>]*?)\bid="[^"]*" ?', r"\1", text)  # two pictures of the same pixels have one id
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)


@style()
def png(figure: Figure, dpi: int = 160) -> bytes:
    """A figure as a picture, for pages that take no inline SVG (a README)."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    return buffer.getvalue()
