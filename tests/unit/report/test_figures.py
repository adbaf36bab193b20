"""Figures draw what they are given, whatever is missing from it, and turn into bytes one way only."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
import report_inputs

from awt import params
from awt.report import canvas
from awt.workflows.tickets.reporting import Inputs, diagnostics, figures, words


def test_accuracy_draws_the_means(findings: Findings) -> None:
    (axes,) = figures.accuracy(inputs.results).axes
    runs = inputs.results.query("method == 'awt'").groupby("density")["adversarial"].mean()
    drawn = [line.get_ydata() for line in axes.get_lines() if len(line.get_ydata()) == len(runs)]
    assert any(np.allclose(sorted(values), sorted(100 * runs)) for values in drawn)
    dense = inputs.results.query("method == 'dense'")["natural"].mean()
    assert any(np.allclose(line.get_ydata(), 100 * dense) for line in axes.get_lines())


def test_accuracy_of_the_dense_network_alone() -> None:
    made = report_inputs.make(methods=("dense",))
    assert canvas.svg(figures.accuracy(made.results), "a").startswith("<svg")
    assert len(figures.retraining(made.retrain).axes) == 1


def test_published_values_are_hollow_and_named_in_the_legend(findings: Findings) -> None:
    published = [params.Published(method="awt", density=0.05, natural=0.9, adversarial=0.8)]
    figure = figures.accuracy(inputs.results, published)
    hollow = [line for line in figure.axes[0].get_lines() if line.get_markerfacecolor() == "white"]
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in hollow] == [([0.05, 0.05], [90, 80])]
    with_it, without = (
        {text.get_text() for text in made.legends[0].get_texts()} for made in (figure, figures.accuracy(inputs.results))
    )
    assert with_it - without == {"published"}


def test_dozens_of_methods_leave_room_for_the_axes(findings: Findings) -> None:
    one = inputs.results.query("method == 'awt'")
    figure = figures.accuracy(pd.concat(one.assign(method=f"a_recipe_{number}") for number in range(48)))
    canvas.png(figure)  # matplotlib lays out while drawing, and warns where nothing is left
    assert figure.axes[0].get_window_extent().height > 0.3 * figure.get_window_extent().height


def test_retraining_has_a_panel_per_density_with_dense_in_each(findings: Findings) -> None:
    panels = figures.retraining(inputs.retrain).axes
    assert [axes.get_title("left") for axes in panels] == [f"{density} % of the weights" for density in (20, 5, 2)]
    assert {len(axes.get_lines()) for axes in panels} == {4}


def test_many_densities_wrap_into_rows() -> None:
    made = report_inputs.make(methods=("random",), densities=(0.01, 0.02, 0.05, 0.1, 0.2), seeds=(0,))
    assert len(figures.retraining(made.retrain).axes) == 5


@pytest.mark.parametrize("kernel", [np.nan, 0.0])
def test_distances_without_a_kernel_distance(findings: Findings, kernel: float) -> None:
    search = inputs.search.assign(kernel_distance=kernel, kernel_distance_error=kernel)
    assert canvas.svg(diagnostics.distances(search), "d").startswith("<svg")


def test_an_error_larger_than_its_distance_stays_on_the_log_scale(findings: Findings) -> None:
    search = inputs.search.assign(kernel_distance_error=10 * inputs.search["kernel_distance"])
    _, kernel = diagnostics.distances(search).axes
    assert kernel.get_yscale() == "log"
    assert kernel.get_ylim()[0] > 0.1 * search["kernel_distance"].min()


def test_a_search_of_one_epoch(findings: Findings) -> None:
    search = inputs.search.query("epoch == 1")
    for draw in (diagnostics.distances, diagnostics.changes):
        assert canvas.svg(draw(search), "s").startswith("<svg")


def test_layer_densities_are_means_over_seeds(findings: Findings) -> None:
    shares = diagnostics.layer_densities(inputs.masks)
    assert list(shares.columns) == list(report_inputs.LAYERS)
    of = [m["layers"]["dense_1"] for m in inputs.masks if (m["method"], m["density"]) == ("awt", 0.05)]
    assert shares.loc[(0.05, "awt"), "dense_1"] == np.mean([layer["kept"] / layer["size"] for layer in of])
    assert "dense" not in shares.index.get_level_values("method")


def test_layers_are_in_the_order_of_their_numbers() -> None:
    sizes = {name: {"kept": 1, "size": 2} for name in ("conv_1", "dense_1", "dense_10", "dense_2")}
    mask = {"method": "awt", "density": 0.5, "seed": 0, "layers": sizes}
    assert list(diagnostics.layer_densities([mask]).columns) == ["conv_1", "dense_1", "dense_2", "dense_10"]


def test_methods_look_different() -> None:
    looks = [canvas.look(method) for method in report_inputs.METHODS]
    assert len({look.colour for look in looks}) == len(looks)
    assert canvas.look("unheard_of") == canvas.look("unheard_of")


def test_png_is_a_png_and_always_the_same(findings: Findings) -> None:
    first, second = (figures.png(figures.accuracy(inputs.results)) for _ in range(2))
    assert first.startswith(b"\x89PNG")
    assert first == second


def test_drawing_leaves_matplotlib_as_it_was(findings: Findings) -> None:
    before = dict(matplotlib.rcParams)
    canvas.svg(figures.accuracy(inputs.results), "a")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    ("value", "said"), [(0.02, "0.02"), (50.0, "50"), (1e-7, "10⁻⁷"), (2e6, "2·10⁶"), (1e4, "10⁴")]
)
def test_magnitudes_in_words(value: float, said: str) -> None:
    assert words.magnitude(value) == said
