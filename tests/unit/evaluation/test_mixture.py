"""The closed forms of the Gaussian mixture, against points that are drawn and moved."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from awt.attacks.ball import Threat
from awt.data.dataset import decode
from awt.data.options import Data, Gaussian
from awt.data.prepare import prepare
from awt.evaluation.mixture import Line, figures, is_linear, table
from awt.models.architecture import Model
from awt.models.registry import resolved
from awt.names import TicketName

TOY = Data(name="gaussian", validation_share=0.0)
LINEAR, THREAT = Model(name="mlp", widths=()), Threat(norm="l2", eps=0.1)
MIXTURE = Gaussian(points=2000, dimension=10, distance=3.0, deviation=1.5)


@pytest.mark.parametrize("offset", [0.0, 0.7])
def test_the_closed_forms_are_the_shares_of_drawn_points(offset):
    random = np.random.default_rng(0)
    line, eps, number = Line(random.standard_normal(10) + np.array([4, *[0] * 9]), offset), 1.2, 400_000
    side = np.where(np.arange(number) % 2, 1, -1)
    x = 1.5 * random.standard_normal((number, 10))
    x[:, 0] += 3.0 * side
    margin = side * (x @ line.theta + offset)
    robust = margin > eps * np.linalg.norm(line.theta)  # the worst perturbation of this size goes along θ
    coordinates, accuracy, angle, cosine, robustness, withstands = figures(MIXTURE, line, eps)
    assert coordinates == 10
    assert accuracy == pytest.approx((margin > 0).mean(), abs=3e-3)
    assert withstands == pytest.approx(robust.mean(), abs=3e-3)
    assert robustness == pytest.approx(robust.mean() + (margin <= 0).mean(), abs=3e-3)
    assert np.cos(angle) == pytest.approx(cosine)


def test_nothing_withstands_more_than_the_line_through_the_means():
    random, best = np.random.default_rng(1), np.eye(10)[0]
    others = [figures(MIXTURE, Line(best + 0.3 * random.standard_normal(10), 0.1), 1.0)[-1] for _ in range(20)]
    assert max(others) < figures(MIXTURE, Line(best, 0.0), 1.0)[-1]


def test_a_classifier_that_says_the_same_of_every_point_is_right_half_of_the_time():
    assert figures(MIXTURE, Line(np.zeros(10), 1.0), 1.0) == (0, 0.5, np.pi / 2, 0.0, 1.0, 0.5)


def test_the_table_has_networks_the_machine_and_the_best_classifier():
    dataset = decode(prepare(TOY, Path())["dataset.npz"], "dataset.npz")
    kernel = np.zeros((100, 2), np.float32)
    kernel[0, 1], kernel[1, 0] = 1.0, 1.0  # θ = (1, -1, 0, …): 45 degrees off
    networks = {TicketName("awt", 0.05, 0): {"dense1/kernel": kernel, "dense1/bias": np.zeros(2)}}
    rows = table(TOY.gaussian, THREAT.eps, dataset, networks).set_index("method")
    assert rows.loc["awt", "cosine"] == pytest.approx(np.sqrt(0.5))
    assert rows.loc["awt", "coordinates"] == 2
    assert rows.loc["bayes", "robustness"] == pytest.approx(0.8427, abs=1e-4)  # the published .843
    assert rows.loc["svm", "robustness"] == pytest.approx(0.714, abs=0.05)  # as published


def test_only_linear_networks_of_the_mixture_have_it():
    assert is_linear(TOY, LINEAR, THREAT)
    assert is_linear(TOY, resolved(LINEAR), THREAT)
    assert not is_linear(TOY, replace(LINEAR, widths=(3,)), THREAT)
    assert not is_linear(replace(TOY, name="digits"), LINEAR, THREAT)
    assert not is_linear(TOY, LINEAR, replace(THREAT, norm="linf"))
    assert not is_linear(TOY, LINEAR, replace(THREAT, eps_unit="std"))
