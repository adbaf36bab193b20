"""Which figures the page shows and what is said under each; a figure with nothing to draw is left out."""

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.figure import Figure

from awt.report import diagnostics, figures, words
from awt.report.inputs import Inputs


class Plate(NamedTuple):
    """A figure, a name that is unique on the page, and one sentence under it."""

    name: str
    figure: Figure
    caption: str


def outcome(inputs: Inputs) -> Iterator[Plate]:
    """What the tickets achieve."""
    bars = "; bars are one standard deviation over seeds" if inputs.results["seed"].nunique() > 1 else ""
    yield Plate(
        "accuracy",
        figures.accuracy(inputs.results),
        f"Accuracy on the test points against the share of weights kept{bars}; the black lines are the dense network.",
    )
    if len(inputs.retrain):
        part = "validation" if figures.has_validation(inputs.retrain) else "training"
        yield Plate(
            "retraining",
            figures.retraining(inputs.retrain),
            f"Accuracy on attacked {part} points after each epoch of adversarial retraining, "
            "mean over seeds, with the dense network in every panel.",
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
            "Share of the kept weights that were not kept an epoch before, mean over seeds: "
            "near zero, the search has settled.",
        )
    if len(diagnostics.layer_densities(inputs.masks)):
        yield Plate(
            "layers",
            diagnostics.layers(inputs.masks),
            "Share of each layer's weights that a ticket keeps, mean over seeds.",
        )


def kernel(inputs: Inputs) -> Iterator[Plate]:
    """What the dense network's kernel is like."""
    if len(inputs.spectrum) and (inputs.spectrum["eigenvalue"] > 0).any():
        points = words.plural(inputs.params.kernel.reference, "reference point")
        yield Plate(
            "spectrum",
            diagnostics.spectrum(inputs.spectrum),
            f"Spectrum of the dense network's tangent kernel at initialisation, traced over classes, "
            f"on {points}; eigenvalues at or below zero are not drawn.",
        )
