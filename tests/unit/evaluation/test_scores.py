"""Scores count a point as robust only when no attack of a suite broke it and it was right from the start."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.attacks.outcome import NATURAL, STANDING
from awt.evaluation.scores import flags, join, metrics, points_of, score, wilson

SUITES = ("pgd100", "autoattack")


def points(*by):
    """Under each suite, what broke each point."""
    numbers = np.arange(len(by[0]), dtype=np.int32)
    return points_of(
        {
            suite: {
                "point": numbers,
                "label": numbers % 3,
                "by": np.asarray(broke, np.int8),
                "size": np.zeros(len(broke)),
            }
            for suite, broke in zip(SUITES, by, strict=False)
        }
    )


def test_counts_what_is_left_standing_and_never_a_point_wrong_from_the_start():
    found = score(points([STANDING, STANDING, 0, NATURAL], [STANDING, 3, 0, NATURAL]), SUITES)
    assert found["natural"] == 0.75
    assert found["adversarial"] == 0.5
    assert found["autoattack"] == 0.25
    assert found["points"] == 4
    assert found["autoattack_low"] < 0.25 < found["autoattack_high"]


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 30), st.integers(0, 1000))
def test_agrees_with_counting_one_by_one_and_joins_chunks(number, seed):
    rng = np.random.default_rng(seed)
    by = rng.integers(STANDING, 3, number)
    whole = points(by)
    found = score(whole, SUITES[:1])
    assert found["adversarial"] == pytest.approx(sum(value == STANDING for value in by) / number)
    assert found["natural"] == pytest.approx(sum(value != NATURAL for value in by) / number)
    cut = int(rng.integers(0, number + 1))
    chunks = [{name: array[part] for name, array in whole.items()} for part in (slice(0, cut), slice(cut, None))]
    assert score(join(chunks), SUITES[:1]) == found


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 2000), st.floats(0, 1))
def test_intervals_hold_the_share_and_cover_as_often_as_they_say(number, share):
    """By the exact binomial distribution; 95 % on average, and less at the worst shares of few points."""
    from scipy.stats import binom

    hits = np.arange(number + 1)
    ends = np.array([wilson(int(count), number) for count in hits])
    assert ((ends[:, 0] <= hits / number + 1e-9) & (hits / number <= ends[:, 1] + 1e-9)).all()
    covers = binom.pmf(hits, number, share)[(ends[:, 0] <= share) & (share <= ends[:, 1])].sum()
    assert covers > 0.78


def test_flags_a_gradient_free_attack_that_beats_gradients():
    attacks = ("apgd-ce", "square")
    assert flags(points([1, STANDING, STANDING, 0]), "pgd100", attacks)
    assert not flags(points([0, STANDING, STANDING, 0]), "pgd100", attacks)
    assert not flags(points([0, STANDING]), "pgd100", ("square",))  # nothing to beat


def test_metrics_are_means_over_seeds_by_method_and_density():
    rows = [
        ("awt", 0.02, 0, 0.9, 0.5, 0.4),
        ("awt", 0.02, 1, 0.8, 0.7, 0.6),
        ("awt", 0.2, 0, 0.95, 0.75, 0.7),
        ("dense", 1.0, 0, 1.0, 0.875, 0.85),
    ]
    columns = ["method", "density", "seed", "natural", "adversarial", "autoattack"]
    table = metrics(pd.DataFrame(rows, columns=columns), SUITES)["table"]
    assert list(table) == ["awt", "dense"]
    assert list(table["awt"]) == ["0.02", "0.2"]
    assert table["awt"]["0.02"] == pytest.approx({"natural": 0.85, "adversarial": 0.6, "autoattack": 0.5})
    assert table["dense"] == {"1": {"natural": 1.0, "adversarial": 0.875, "autoattack": 0.85}}
