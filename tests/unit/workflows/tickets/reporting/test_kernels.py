"""The kernels' figures and table show what was measured, and what is not a number as such."""

import dataclasses
import math
import re

import made_findings
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from awt.report import canvas, numbers
from awt.workflows.tickets.reporting import Findings, kernels, plates, words

KEYS = ["method", "density", "when"]


def maps(figure_axes: list[Axes]) -> list[Axes]:
    return [axes for axes in figure_axes if axes.images]


def test_the_sparsest_are_the_dense_network_and_the_lowest_density(findings: Findings) -> None:
    shown = kernels.sparsest(findings.kernels)
    assert set(shown["method"]) == set(made_findings.METHODS)
    assert set(shown["density"]) == {1.0, 0.02}


def test_heat_maps_are_in_units_of_their_mean_diagonal_dense_first(findings: Findings) -> None:
    shown = kernels.pictures(findings.kernels, findings.heatmaps)
    assert list(shown) == ["dense", "awt", "magnitude", "random"]
    for method, times in shown.items():
        assert list(times) == ["initial", "trained"]
        given = findings.heatmaps[f"{method}-{1 if method == 'dense' else 0.02}-seed0-trained"]
        np.testing.assert_allclose(times["trained"], given / np.trace(given) * len(given), rtol=1e-6)


def test_heat_maps_stand_initial_above_trained_with_borders_between_classes(findings: Findings) -> None:
    shown = kernels.pictures(findings.kernels, findings.heatmaps)
    drawn = maps(kernels.heatmaps(shown, findings.heatmaps["labels"]).axes)
    order = [(method, when) for when in ("initial", "trained") for method in shown]
    for axes, (method, when) in zip(drawn, order, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), shown[method][when])
        assert {line.get_xdata()[0] for line in axes.get_lines()} >= {2.5, 5.5, 8.5}
    assert len({axes.images[0].get_clim() for axes in drawn}) == 1


def test_many_methods_go_on_below(findings: Findings) -> None:
    one = kernels.pictures(findings.kernels, findings.heatmaps)["dense"]
    figure = kernels.heatmaps({f"m{number}": one for number in range(6)}, findings.heatmaps["labels"])
    assert len(maps(figure.axes)) == 12
    assert [axes.get_title("left") for axes in figure.axes if axes.get_title("left")] == [f"m{n}" for n in range(6)]


@pytest.mark.parametrize("fault", [0.0, np.nan])
def test_a_kernel_without_a_diagonal_is_blank(findings: Findings, fault: float) -> None:
    broken = {name: np.full_like(array, fault) for name, array in findings.heatmaps.items() if name != "labels"}
    shown = kernels.pictures(findings.kernels, {**findings.heatmaps, **broken})
    figure = kernels.heatmaps(shown, findings.heatmaps["labels"])
    assert all(axes.images[0].get_array().mask.all() for axes in maps(figure.axes))
    assert canvas.svg(figure, "h").startswith("<svg")


def test_spectra_are_means_over_seeds(findings: Findings) -> None:
    (axes,) = kernels.spectra(findings.spectra).axes
    assert len(axes.get_lines()) == 2 * len(made_findings.METHODS)
    runs = findings.spectra.query("method == 'random' and density == 0.02 and when == 'trained'")
    means = runs.groupby("index")["eigenvalue"].mean()
    assert any(np.allclose(line.get_ydata(), means) for line in axes.get_lines())


def test_spectra_leave_out_what_a_log_scale_cannot_show(findings: Findings) -> None:
    spectra = findings.spectra.assign(eigenvalue=findings.spectra["eigenvalue"] - 10)
    (axes,) = kernels.spectra(spectra).axes
    for line in axes.get_lines():
        assert np.all(np.asarray(line.get_ydata()) > 0)
        assert np.asarray(line.get_xdata())[0] == 1


def test_rotation_marks_every_density_and_the_start(findings: Findings) -> None:
    turns = kernels.turns(findings.kernels)
    (axes,) = kernels.rotation(turns).axes
    points = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines() if len(line.get_xdata()) == 1}
    assert points >= {(0, 0), *zip(turns["angle"], np.log10(turns["radius"]), strict=True)}
    assert axes.get_rmin() < 0 < np.log10(turns["radius"].max()) < axes.get_rmax()
    assert axes.get_thetamax() > np.degrees(turns["angle"].max())


def test_a_kernel_that_shrank_stays_in_the_picture(findings: Findings) -> None:
    turns = kernels.turns(findings.kernels.assign(radius=1e-3))
    (axes,) = kernels.rotation(turns).axes
    assert axes.get_rmin() < -3


def test_table_rows_are_means_over_seeds_densest_first(findings: Findings) -> None:
    rows = kernels.summary(findings.kernels)
    assert len(rows) == 2 * (1 + 3 * len(made_findings.DENSITIES))
    assert list(rows["density"]) == sorted(rows["density"], reverse=True)
    expected = findings.kernels.groupby(KEYS)[kernels.MEANS].mean()
    pd.testing.assert_frame_equal(rows.set_index(KEYS).sort_index(), expected.sort_index())


def test_table_does_not_depend_on_the_order_of_rows(findings: Findings) -> None:
    shuffled = findings.kernels.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(kernels.summary(shuffled), kernels.summary(findings.kernels), check_exact=True)


def test_what_is_not_a_number_in_one_seed_shows_in_the_mean(findings: Findings) -> None:
    broken = findings.kernels.copy()
    row = broken.query("method == 'awt' and density == 0.02 and seed == 1 and when == 'trained'").index
    broken.loc[row, ["condition", "lambda_min", "alignment"]] = [math.inf, -2e-8, math.nan]
    shown = kernels.summary(broken).query("method == 'awt' and density == 0.02 and when == 'trained'").iloc[0]
    assert shown["condition"] == math.inf
    assert math.isnan(shown["alignment"])
    cells = kernels.cells(shown)
    assert (cells[-3], cells[-2]) == ("–", "∞")


def test_the_page_has_the_figures_and_the_table(html: str, findings: Findings) -> None:
    (section,) = (part for part in html.split("<section>") if part.startswith("<h2>The kernels"))
    assert re.findall('<figure id="([a-z]+)"', section) == ["heatmaps", "spectra", "rotation"]
    for _, row in kernels.summary(findings.kernels).iterrows():
        assert "".join(f"<td>{cell}</td>" for cell in kernels.cells(row)) in section


def test_an_experiment_without_dense_and_with_one_seed() -> None:
    made = made_findings.make(methods=("awt", "random"), densities=(0.05,), seeds=(3,))
    first, second = ([canvas.svg(plate.figure, plate.name) for plate in plates.kernels(made)] for _ in range(2))
    assert len(first) == 3
    assert first == second
    assert all("the dense network" not in plate.caption for plate in plates.kernels(made))
    assert {kernels.cells(row)[3] for _, row in kernels.summary(made.kernels).iterrows()} == {"–"}


def test_what_nothing_is_known_of_is_not_drawn(findings: Findings) -> None:
    unknown = findings.kernels.assign(radius=math.nan, angle=math.nan)
    spectra = findings.spectra.assign(eigenvalue=math.nan)
    labels = {"labels": findings.heatmaps["labels"]}
    made = dataclasses.replace(findings, kernels=unknown, spectra=spectra, heatmaps=labels)
    assert list(plates.kernels(made)) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [(31234.0, "3.1·10⁴"), (-2e-8, "−2.0·10⁻⁸"), (math.inf, "∞"), (math.nan, "–"), (1.0, "1.0·10⁰")],
)
def test_scientific_notation(value: float, said: str) -> None:
    assert numbers.scientific(value) == said


@pytest.mark.parametrize(("value", "said"), [(0.41249, "0.412"), (-1e-16, "0.000"), (-0.25, "−0.250"), (math.nan, "–")])
def test_decimals(value: float, said: str) -> None:
    assert words.decimal(value) == said
