"""Scores count a point as robust only when it is right unperturbed and under every restart."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.evaluation.scores import RESULTS, join, metrics, score


def points_of(label, natural, adversarial):
    arrays = {"label": label, "natural": natural, "adversarial": adversarial, "point": np.arange(len(label))}
    return {name: np.asarray(array, np.int32) for name, array in arrays.items()}


def test_counts_the_worst_restart_and_never_a_point_wrong_from_the_start():
    found = score(
        points_of(
            label=[0, 1, 2, 0],
            natural=[0, 1, 2, 1],  # the last is wrong unperturbed …
            adversarial=[[0, 0], [1, 2], [0, 0], [0, 0]],  # … though every attack happens to put it right
        )
    )
    assert found == {"natural": 0.75, "adversarial": 0.25, "points": 4}


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 1000))
def test_agrees_with_counting_one_by_one_and_joins_chunks(number, restarts, seed):
    rng = np.random.default_rng(seed)
    label, natural = rng.integers(0, 3, (2, number))
    points = points_of(label, natural, rng.integers(0, 3, (number, restarts)))
    robust = sum(
        natural[i] == label[i] and all(guess == label[i] for guess in points["adversarial"][i]) for i in range(number)
    )
    found = score(points)
    assert found["adversarial"] == pytest.approx(robust / number)
    assert found["natural"] == pytest.approx(np.mean(natural == label))
    cut = int(rng.integers(0, number + 1))
    chunks = [{name: array[part] for name, array in points.items()} for part in (slice(0, cut), slice(cut, None))]
    assert score(join(chunks)) == found


def test_metrics_are_means_over_seeds_by_method_and_density():
    rows = [
        ("awt", 0.02, 0, False, 0.9, 0.5, 10),
        ("awt", 0.02, 1, False, 0.8, 0.7, 10),
        ("awt", 0.2, 0, False, 0.95, 0.75, 10),
        ("dense", 1.0, 0, False, 1.0, 0.875, 10),
    ]
    table = metrics(pd.DataFrame(rows, columns=RESULTS))["table"]
    assert list(table) == ["awt", "dense"]
    assert list(table["awt"]) == ["0.02", "0.2"]
    assert table["awt"]["0.02"] == pytest.approx({"natural": 0.85, "adversarial": 0.6})
    assert table["dense"] == {"1": {"natural": 1.0, "adversarial": 0.875}}
