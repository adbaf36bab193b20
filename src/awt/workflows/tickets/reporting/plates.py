"""Which figures the page shows and what is said under each; a figure with nothing to draw is left out."""

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.figure import Figure

from awt.workflows.tickets.reporting import diagnostics, figures, words
from awt.workflows.tickets.reporting import kernels as kernel_figures
from awt.workflows.tickets.reporting import training as training_figures
from awt.workflows.tickets.reporting.findings import Findings


class Plate(NamedTuple):
    """A figure, a name that is unique on the page, and one sentence under it."""

    name: str
    figure: Figure
    caption: str


def outcome(findings: Findings) -> Iterator[Plate]:
    """What the tickets achieve."""
    bars = "; bars are one standard deviation over seeds" if findings.results["seed"].nunique() > 1 else ""
    published = findings.params.report.published
    hollow = f"; hollow, published ({findings.params.report.source})" if published else ""
    yield Plate(
        "accuracy",
        figures.accuracy(findings.results, published),
        f"Accuracy on the test points against the share of weights kept{bars}; the black lines are the dense network"
        f"{hollow}.",
    )
    if len(findings.sanity):
        yield Plate(
            "perturbations",
            figures.perturbations(findings.sanity, findings.params.threat.eps),
            "Share of the points that stand against a perturbation of each size, at the lowest density and dense, mean "
            "over seeds; the dotted line is the threat's ε. A robust network breaks in the end: one whose line stays "
            "up hides its gradients.",
        )
    if len(findings.retrain):
        part = "validation" if figures.has_validation(findings.retrain) else "training"
        yield Plate(
            "retraining",
            figures.retraining(findings.retrain),
            f"Accuracy on attacked {part} points after each epoch of adversarial retraining, "
            "mean over seeds, with the dense network in every panel.",
        )


def training(findings: Findings) -> Iterator[Plate]:
    """How tickets train beside the dense network."""
    if len(findings.dynamics):
        lowest = words.density(findings.dynamics["density"].min())
        yield Plate(
            "dynamics",
            training_figures.dynamics(findings.dynamics),
            f"How far the outputs of tickets of {lowest} are from the dense network's while both train with the same "
            "batches, on natural (left) and attacked points (right), mean over seeds; dashed, the bound of the paper's "
            "Theorem 2.",
        )
    if len(training_figures.grafts(findings.dynamics)):
        yield Plate(
            "grafting",
            training_figures.grafting(findings.dynamics),
            "Of the dense network and a ticket that train side by side, the first layers of one are joined to the rest "
            f"of the other ({findings.dynamics['method'].iloc[0]}): how much higher the error on natural test points "
            "is than that of the worse of the two, mean over seeds. Near zero, both learn the same layer by layer.",
        )


def search(findings: Findings) -> Iterator[Plate]:
    """How the tickets were found."""
    if len(findings.search):
        yield Plate(
            "distances",
            diagnostics.distances(findings.search),
            "How far the outputs (left) and the tangent kernel (right) of the sparse network are from the "
            "dense one's, mean over seeds; the band is the standard error of the kernel's estimate.",
        )
        yield Plate(
            "changes",
            diagnostics.changes(findings.search),
            "Accuracy of the network that searches, on training points as the search sees them (left), and share of "
            "the kept weights that were not kept an epoch before (right; near zero, the search has settled), mean over "
            "seeds.",
        )
        lowest = words.density(findings.search["density"].min())
        yield Plate(
            "searched-layers",
            diagnostics.layers_while_searching(findings.search),
            f"Share of each layer's weights kept after each epoch of the search, at {lowest}, mean over seeds.",
        )
    if len(diagnostics.layer_densities(findings.masks)):
        yield Plate(
            "layers",
            diagnostics.layers(findings.masks),
            "Share of each layer's weights that a ticket keeps, mean over seeds.",
        )


def kernels(findings: Findings) -> Iterator[Plate]:
    """What the networks' kernels are like, and what training does to them."""
    points = words.plural(findings.params.kernel.reference_points, "reference point")
    shown = kernel_figures.pictures(findings.kernels, findings.heatmaps)
    labels, lowest = findings.heatmaps["labels"], _lowest(findings)
    if shown:
        yield Plate(
            "heatmaps",
            kernel_figures.heatmaps(shown, labels),
            f"Class-traced kernels Σₖ Θ(x, x′)[k, k] of {lowest}, before and after training, for one seed: {points} in "
            f"the order of their classes, which white lines part, in {len(labels)} groups. Each is divided by the mean "
            "of its own diagonal; one scale of colours serves all, and a hundredth of the values lies above its end.",
        )
    if (findings.spectra["eigenvalue"] > 0).any():
        yield Plate(
            "spectra",
            kernel_figures.spectra(findings.spectra),
            f"Eigenvalues of the class-traced kernels of {lowest} against their rank, mean over seeds: the steeper "
            "a line falls, the fewer directions its network learns fast. Below some 10⁻⁸ of the largest they are "
            "rounding, and at or below zero they are not drawn.",
        )
    turns = kernel_figures.turns(findings.kernels)
    if len(turns):
        yield Plate(
            "rotation",
            kernel_figures.rotation(turns),
            "Where training took each kernel from its start at radius 1, angle 0: the radius (logarithmic) is "
            "‖Θ trained‖ / ‖Θ initial‖, the angle that between the two as vectors, means over seeds. Lines join the "
            "densities of a method; the lighter a mark, the sparser the network.",
        )


def _lowest(findings: Findings) -> str:
    """`the dense network and every method at 3 %`, or the one of the two that there is."""
    sparse = findings.kernels.loc[findings.kernels["method"] != "dense", "density"]
    networks = ["the dense network"] if len(sparse) < len(findings.kernels) else []
    if len(sparse):
        networks.append(f"every method at {words.density(sparse.min())}")
    return words.listed(networks)
