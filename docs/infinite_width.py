"""Draws docs/infinite_width.png: how far the tangent kernels of finite networks are from the infinite-width limit.

python docs/infinite_width.py
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from awt.data.dataset import Dataset, decode
from awt.data.options import Data
from awt.data.prepare import prepare
from awt.kernels.exact import tangent_kernel
from awt.kernels.infinite import infinite_kernels
from awt.models.architecture import Model, build
from awt.models.registry import resolved
from awt.report import canvas

PROJECT = Path(__file__).parents[1]
WIDTHS = (64, 128, 256, 512, 1024, 2048, 4096)
SEEDS, POINTS = 16, 16
LOOKS = {"mean over classes": canvas.look("awt"), "class by class": canvas.look("random")}


def distances(dataset: Dataset, width: int) -> dict[str, np.ndarray]:
    """Relative Frobenius distances of the kernel at initialisation from its limit, by seed."""
    network = build(resolved(Model(name="mlp", widths=(width, width), init="ntk")), dataset)
    x = jnp.asarray(dataset.train_x[:POINTS])
    limit = infinite_kernels(network, x).ntk
    kernel = jax.jit(lambda weights: tangent_kernel(network, weights, x, x))
    grams = [np.asarray(kernel(network.initialise(seed)), np.float64) for seed in range(SEEDS)]
    identity = np.eye(dataset.classes)
    whole = [np.linalg.norm(gram - limit[:, :, None, None] * identity) for gram in grams]
    mean = [np.linalg.norm(np.einsum("nmkk->nm", gram) / dataset.classes - limit) for gram in grams]
    scale = np.linalg.norm(limit)
    return {
        "mean over classes": np.array(mean) / scale,
        "class by class": np.array(whole) / scale / np.sqrt(dataset.classes),
    }


@canvas.style()
def figure(found: dict[int, dict[str, np.ndarray]]) -> Figure:
    """Root mean squares and standard deviations over seeds against the width, each with a line of slope −1/2."""
    drawn, (axes,) = canvas.panels(1, "Tangent kernel of an MLP and its infinite-width limit", height=4.0)
    widths = np.array(sorted(found))
    for kind, look in LOOKS.items():
        errors = np.array([found[width][kind] for width in widths])
        level = np.sqrt(np.mean(errors**2, axis=1))
        slope, _ = np.polyfit(np.log(widths), np.log(level), 1)
        print(f"{kind}: slope {slope:.3f}, {level[-1]:.2%} at width {widths[-1]}")
        axes.errorbar(widths, level, errors.std(axis=1), color=look.colour, marker=look.marker, ls="", elinewidth=1)
        anchor = np.exp(np.mean(np.log(level) + np.log(widths) / 2))
        axes.plot(widths, anchor / np.sqrt(widths), color=look.colour, linewidth=1.2, linestyle=canvas.dashes(1))
    canvas.logarithmic(axes, "y")
    axes.set_xscale("log", base=2)
    axes.set_xticks(widths, [f"{width}" for width in widths])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("width of both hidden layers")
    axes.set_ylabel("relative distance")
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle="", label=kind) for kind, look in LOOKS.items()
    ]
    slope_line = Line2D([], [], color="#777777", linewidth=1.2, linestyle=canvas.dashes(1), label="∝ 1/√width")
    canvas.legend(drawn, [*handles, slope_line])
    return drawn


def main() -> None:
    dataset = decode(prepare(Data(), PROJECT)["dataset.npz"], "dataset.npz")
    found = {width: distances(dataset, width) for width in WIDTHS}
    (PROJECT / "docs" / "infinite_width.png").write_bytes(canvas.png(figure(found)))


if __name__ == "__main__":
    main()
