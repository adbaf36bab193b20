"""Figures draw what they are given, whatever is missing from it, and turn into bytes one way only."""

import made_findings
import matplotlib
import numpy as np
import pandas as pd
import pytest

from awt.report import canvas, numbers
from awt.workflows.tickets.params import Published
from awt.workflows.tickets.reporting import Findings, diagnostics, figures


def test_accuracy_draws_the_means(findings: Findings) -> None:
    (axes,) = figures.accuracy(findings.results).axes
    runs = findings.results.query("method == 'awt'").groupby("density")["adversarial"].mean()
    drawn = [line.get_ydata() for line in axes.get_lines() if len(line.get_ydata()) == len(runs)]
    assert any(np.allclose(sorted(values), sorted(100 * runs)) for values in drawn)
    dense = findings.results.query("method == 'dense'")["natural"].mean()
    assert any(np.allclose(line.get_ydata(), 100 * dense) for line in axes.get_lines())


def test_accuracy_of_the_dense_network_alone() -> None:
    made = made_findings.make(methods=("dense",))
    assert canvas.svg(figures.accuracy(made.results), "a").startswith("<svg")
    assert len(figures.retraining(made.retrain).axes) == 1


def test_published_values_are_hollow_and_named_in_the_legend(findings: Findings) -> None:
    published = [Published(method="awt", density=0.05, natural=0.9, adversarial=0.8)]
    figure = figures.accuracy(findings.results, published)
    hollow = [line for line in figure.axes[0].get_lines() if line.get_markerfacecolor() == "white"]
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in hollow] == [([0.05, 0.05], [90, 80])]
    with_it, without = (
        {text.get_text() for text in made.legends[0].get_texts()}
        for made in (figure, figures.accuracy(findings.results))
    )
    assert with_it - without == {"published"}


def test_dozens_of_methods_leave_room_for_the_axes(findings: Findings) -> None:
    one = findings.results.query("method == 'awt'")
    figure = figures.accuracy(pd.concat(one.assign(method=f"a_recipe_{number}") for number in range(48)))
    canvas.png(figure)  # matplotlib lays out while drawing, and warns where nothing is left
    assert figure.axes[0].get_window_extent().height > 0.3 * figure.get_window_extent().height


def test_retraining_has_a_panel_per_density_with_dense_in_each(findings: Findings) -> None:
    panels = figures.retraining(findings.retrain).axes
    assert [axes.get_title("left") for axes in panels] == [f"{density} % of the weights" for density in (20, 5, 2)]
    assert {len(axes.get_lines()) for axes in panels} == {4}


def test_many_densities_wrap_into_rows() -> None:
    made = made_findings.make(methods=("random",), densities=(0.01, 0.02, 0.05, 0.1, 0.2), seeds=(0,))
    assert len(figures.retraining(made.retrain).axes) == 5


@pytest.mark.parametrize("kernel", [np.nan, 0.0])
def test_distances_without_a_kernel_distance(findings: Findings, kernel: float) -> None:
    search = findings.search.assign(kernel_distance=kernel, kernel_distance_error=kernel)
    assert canvas.svg(diagnostics.distances(search), "d").startswith("<svg")


def test_an_error_larger_than_its_distance_stays_on_the_log_scale(findings: Findings) -> None:
    search = findings.search.assign(kernel_distance_error=10 * findings.search["kernel_distance"])
    _, kernel = diagnostics.distances(search).axes
    assert kernel.get_yscale() == "log"
    assert kernel.get_ylim()[0] > 0.1 * search["kernel_distance"].min()


def test_a_search_of_one_epoch(findings: Findings) -> None:
    search = findings.search.query("epoch == 1")
    for draw in (diagnostics.distances, diagnostics.changes):
        assert canvas.svg(draw(search), "s").startswith("<svg")


def test_layer_densities_are_means_over_seeds(findings: Findings) -> None:
    shares = diagnostics.layer_densities(findings.masks)
    assert list(shares.columns) == list(made_findings.LAYERS)
    of = [m["layers"]["dense_1"] for m in findings.masks if (m["method"], m["density"]) == ("awt", 0.05)]
    assert shares.loc[(0.05, "awt"), "dense_1"] == np.mean([layer["kept"] / layer["size"] for layer in of])
    assert "dense" not in shares.index.get_level_values("method")


def test_layers_are_in_the_order_of_their_numbers() -> None:
    sizes = {name: {"kept": 1, "size": 2} for name in ("conv_1", "dense_1", "dense_10", "dense_2")}
    mask = {"method": "awt", "density": 0.5, "seed": 0, "layers": sizes}
    assert list(diagnostics.layer_densities([mask]).columns) == ["conv_1", "dense_1", "dense_2", "dense_10"]


def test_methods_look_different() -> None:
    looks = [canvas.look(method) for method in made_findings.METHODS]
    assert len({look.colour for look in looks}) == len(looks)
    assert canvas.look("unheard_of") == canvas.look("unheard_of")


def test_png_is_a_png_and_always_the_same(findings: Findings) -> None:
    first, second = (figures.png(figures.accuracy(findings.results)) for _ in range(2))
    assert first.startswith(b"\x89PNG")
    assert first == second


def test_drawing_leaves_matplotlib_as_it_was(findings: Findings) -> None:
    before = dict(matplotlib.rcParams)
    canvas.svg(figures.accuracy(findings.results), "a")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    ("value", "said"), [(0.02, "0.02"), (50.0, "50"), (1e-7, "10⁻⁷"), (2e6, "2·10⁶"), (1e4, "10⁴")]
)
def test_magnitudes_in_words(value: float, said: str) -> None:
    assert numbers.magnitude(value) == said
