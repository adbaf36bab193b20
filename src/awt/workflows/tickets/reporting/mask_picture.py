"""The picture of a mask, in the report's style: where the first layer's weights are, and the layers' densities."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from awt.report import canvas
from awt.workflows.tickets.reporting import words


@canvas.style()
def picture(title: str, places: str, weights: np.ndarray, densities: Mapping[str, float], method: str) -> Figure:
    """Weights [height, width, channels] as an image a channel, on one scale of colours; and a bar a layer."""
    channels = weights.shape[-1]
    figure, images, bars = _layout(channels, title)
    scale = Normalize(0, max(1, int(weights.max())))
    for number, axes in enumerate(images):
        image = _image(axes, weights[..., number], scale)
        axes.set_title(f"channel {number + 1}" if channels > 1 else "")
    ticks = MaxNLocator(nbins=5, integer=True)
    figure.colorbar(image, ax=images, location="bottom", aspect=20 * min(channels, 2), label=places, ticks=ticks)
    _bars(bars, densities, canvas.look(method).colour)
    return figure


def _layout(channels: int, title: str) -> tuple[Figure, list[Axes], Axes]:
    """Axes of the images and of the bars: beside a single image, below several."""
    if channels == 1:
        figure, grid = canvas.grid(1, 2, title, height=3.2)
        return figure, [grid[0, 0]], grid[0, 1]
    columns = min(channels, canvas.COLUMNS)
    rows = -(-channels // columns)
    figure, grid = canvas.grid(rows + 1, columns, title, height=2.6)
    images: list[Axes] = list(grid.flat)
    for unused in images[channels:]:
        unused.remove()
    return figure, images[:channels], figure.add_subplot(grid[0, 0].get_gridspec()[rows, :])


def encode(figure: Figure, suffix: str) -> bytes:
    """The bytes of a .png or an .svg."""
    return canvas.png(figure) if suffix == ".png" else f"{canvas.svg(figure, 'mask')}\n".encode()


def _image(axes: Axes, weights: np.ndarray, scale: Normalize) -> AxesImage:
    image = axes.imshow(weights, norm=scale, cmap="viridis", interpolation="none")
    axes.grid(visible=False)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    return image


def _bars(axes: Axes, densities: Mapping[str, float], colour: str) -> None:
    shares = [100 * density for density in densities.values()]
    bars = axes.bar(list(densities), shares, width=0.6, color=colour)
    axes.bar_label(bars, [words.density(density) for density in densities.values()], padding=2)
    axes.set_ylim(0, 1.15 * max(shares) or 1)
    axes.set_ylabel("weights kept, %")
    axes.grid(visible=False, axis="x")
    if len(densities) > 8:
        axes.tick_params(axis="x", rotation=90)
