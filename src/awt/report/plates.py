"""Which figures the page shows and what is said under each; a figure with nothing to draw is left out."""

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.figure import Figure

from awt.report import diagnostics, figures, words
from awt.report import kernels as kernel_figures
from awt.report import training as training_figures
from awt.report.inputs import Inputs


class Plate(NamedTuple):
    """A figure, a name that is unique on the page, and one sentence under it."""

    name: str
    figure: Figure
    caption: str


def outcome(inputs: Inputs) -> Iterator[Plate]:
    """What the tickets achieve."""
    bars = "; bars are one standard deviation over seeds" if inputs.results["seed"].nunique() > 1 else ""
    published = inputs.params.report.published
    hollow = f"; hollow, published ({inputs.params.report.source})" if published else ""
    yield Plate(
        "accuracy",
        figures.accuracy(inputs.results, published),
        f"Accuracy on the test points against the share of weights kept{bars}; the black lines are the dense network"
        f"{hollow}.",
    )
    if len(inputs.sanity):
        yield Plate(
            "perturbations",
            figures.perturbations(inputs.sanity, inputs.params.threat.eps),
            "Share of the points that stand against a perturbation of each size, at the lowest density and dense, mean "
            "over seeds; the dotted line is the threat's ε. A robust network breaks in the end: one whose line stays "
            "up hides its gradients.",
        )
    if len(inputs.retrain):
        part = "validation" if figures.has_validation(inputs.retrain) else "training"
        yield Plate(
            "retraining",
            figures.retraining(inputs.retrain),
            f"Accuracy on attacked {part} points after each epoch of adversarial retraining, "
            "mean over seeds, with the dense network in every panel.",
        )


def training(inputs: Inputs) -> Iterator[Plate]:
    """How tickets train beside the dense network."""
    if len(inputs.dynamics):
        lowest = words.density(inputs.dynamics["density"].min())
        yield Plate(
            "dynamics",
            training_figures.dynamics(inputs.dynamics),
            f"How far the outputs of tickets of {lowest} are from the dense network's while both train with the same "
            "batches, on natural (left) and attacked points (right), mean over seeds; dashed, the bound of the paper's "
            "Theorem 2.",
        )
    if len(training_figures.grafts(inputs.dynamics)):
        yield Plate(
            "grafting",
            training_figures.grafting(inputs.dynamics),
            "Of the dense network and a ticket that train side by side, the first layers of one are joined to the rest "
            f"of the other ({inputs.dynamics['method'].iloc[0]}): how much higher the error on natural test points is "
            "than that of the worse of the two, mean over seeds. Near zero, both learn the same layer by layer.",
        )


def search(inputs: Inputs) -> Iterator[Plate]:
    """How the tickets were found."""
    if len(inputs.search):
        yield Plate(
            "distances",
            diagnostics.distances(inputs.search),
            "How far the outputs (left) and the tangent kernel (right) of the sparse network are from the "
            "dense one's, mean over seeds; the band is the standard error of the kernel's estimate.",
        )
        yield Plate(
            "changes",
            diagnostics.changes(inputs.search),
            "Accuracy of the network that searches, on training points as the search sees them (left), and share of "
            "the kept weights that were not kept an epoch before (right; near zero, the search has settled), mean over "
            "seeds.",
        )
        lowest = words.density(inputs.search["density"].min())
        yield Plate(
            "searched-layers",
            diagnostics.layers_while_searching(inputs.search),
            f"Share of each layer's weights kept after each epoch of the search, at {lowest}, mean over seeds.",
        )
    if len(diagnostics.layer_densities(inputs.masks)):
        yield Plate(
            "layers",
            diagnostics.layers(inputs.masks),
            "Share of each layer's weights that a ticket keeps, mean over seeds.",
        )


def kernels(inputs: Inputs) -> Iterator[Plate]:
    """What the networks' kernels are like, and what training does to them."""
    points = words.plural(inputs.params.kernel.reference, "reference point")
    shown = kernel_figures.pictures(inputs.kernels, inputs.heatmaps)
    labels, lowest = inputs.heatmaps["labels"], _lowest(inputs)
    if shown:
        yield Plate(
            "heatmaps",
            kernel_figures.heatmaps(shown, labels),
            f"Class-traced kernels Σₖ Θ(x, x′)[k, k] of {lowest}, before and after training, for one seed: {points} in "
            f"the order of their classes, which white lines part, in {len(labels)} groups. Each is divided by the mean "
            "of its own diagonal; one scale of colours serves all, and a hundredth of the values lies above its end.",
        )
    if (inputs.spectra["eigenvalue"] > 0).any():
        yield Plate(
            "spectra",
            kernel_figures.spectra(inputs.spectra),
            f"Eigenvalues of the class-traced kernels of {lowest} against their rank, mean over seeds: the steeper "
            "a line falls, the fewer directions its network learns fast. Below some 10⁻⁸ of the largest they are "
            "rounding, and at or below zero they are not drawn.",
        )
    turns = kernel_figures.turns(inputs.kernels)
    if len(turns):
        yield Plate(
            "rotation",
            kernel_figures.rotation(turns),
            "Where training took each kernel from its start at radius 1, angle 0: the radius (logarithmic) is "
            "‖Θ trained‖ / ‖Θ initial‖, the angle that between the two as vectors, means over seeds. Lines join the "
            "densities of a method; the lighter a mark, the sparser the network.",
        )


def _lowest(inputs: Inputs) -> str:
    """`the dense network and every method at 3 %`, or the one of the two that there is."""
    sparse = inputs.kernels.loc[inputs.kernels["method"] != "dense", "density"]
    networks = ["the dense network"] if len(sparse) < len(inputs.kernels) else []
    if len(sparse):
        networks.append(f"every method at {words.density(sparse.min())}")
    return words.listed(networks)
