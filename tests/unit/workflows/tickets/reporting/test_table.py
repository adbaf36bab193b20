"""The table says what the results say."""

import csv
import io

import pandas as pd
import pytest

from awt.workflows.tickets.reporting import Findings, table

KINDS = ("natural", "adversarial")


def frame(*rows: tuple[str, float, int, float, float]) -> pd.DataFrame:
    columns = ["method", "density", "seed", "natural", "adversarial"]
    return pd.DataFrame(rows, columns=columns).assign(points=100, trains_all=False, flags="")


def test_numbers_are_those_of_the_results(findings: Findings) -> None:
    summary = table.summary(findings.results)
    for _, row in summary.iterrows():
        runs = findings.results.query("method == @row.method and density == @row.density")
        for kind in KINDS:
            values = sorted(runs[kind])
            mean = sum(values) / len(values)
            variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
            assert row[f"{kind}_mean"] == pytest.approx(mean, rel=1e-12)
            assert row[f"{kind}_spread"] == pytest.approx(variance**0.5, rel=1e-9)
            assert (row[f"{kind}_worst"], row[f"{kind}_best"]) == (values[0], values[-1])
        assert row["seeds"] == len(runs)


def test_rows_are_densest_first_then_dense_then_by_name() -> None:
    results = frame(
        ("random", 0.1, 0, 0.5, 0.4),
        ("awt", 0.1, 0, 0.5, 0.4),
        ("awt", 1.0, 0, 0.5, 0.4),
        ("dense", 1.0, 0, 0.5, 0.4),
        ("awt", 0.5, 0, 0.5, 0.4),
    )
    summary = table.summary(results)
    order = list(zip(summary["density"], summary["method"], strict=True))
    assert order == [(1.0, "dense"), (1.0, "awt"), (0.5, "awt"), (0.1, "awt"), (0.1, "random")]


def test_order_of_rows_does_not_matter(findings: Findings) -> None:
    shuffled = findings.results.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(table.summary(shuffled), table.summary(findings.results), check_exact=True)


def test_one_seed_has_no_spread() -> None:
    summary = table.summary(frame(("awt", 0.1, 7, 0.912, 0.845)))
    assert summary.loc[0, "natural_spread"] == 0
    assert "±" not in table.text(summary)
    assert "91.2" in table.text(summary)


def test_text_is_aligned_and_in_percent(findings: Findings) -> None:
    lines = table.text(table.summary(frame(("awt", 0.1, 0, 0.958, 0.8), ("awt", 0.1, 1, 0.964, 0.9)))).splitlines()
    assert "96.1 ± 0.4" in lines[1]
    assert "85.0 ± 7.1" in lines[1]
    assert len({len(line) for line in table.text(table.summary(findings.results)).splitlines()}) == 1


def test_best_adversarial_of_a_density_wins_and_a_lone_row_does_not() -> None:
    summary = table.summary(frame(("dense", 1.0, 0, 0.9, 0.9), ("awt", 0.1, 0, 0.7, 0.6), ("random", 0.1, 0, 0.9, 0.5)))
    winners = summary["method"][table.winners(summary)]
    assert list(winners) == ["awt"]


def test_a_network_that_is_dense_after_all_says_so_and_wins_nothing() -> None:
    results = frame(("awt", 0.1, 0, 0.7, 0.6), ("random", 0.1, 0, 0.9, 0.5), ("iwi", 0.1, 0, 0.9, 0.9))
    results["trains_all"] = results["method"] == "iwi"
    summary = table.summary(results)
    assert list(summary["method"][table.winners(summary)]) == ["awt"]
    assert "iwi (dense)" in table.text(summary)
    assert "awt (dense)" not in table.text(summary)


def test_a_flagged_network_is_marked() -> None:
    results = frame(("awt", 0.1, 0, 0.7, 0.6), ("random", 0.1, 0, 0.9, 0.5))
    results.loc[1, "flags"] = "gradients are zero"
    text = table.text(table.summary(results))
    assert f"random {table.MARK}" in text
    assert f"awt {table.MARK}" not in text


def test_further_suites_have_columns(findings: Findings) -> None:
    assert findings.kinds == ("natural", "adversarial", "autoattack")
    heads, first, *_ = table.text(table.summary(findings.results, findings.kinds)).splitlines()
    assert heads.split()[2:5] == list(findings.kinds)
    assert "86.8 ± 0.3" in first


def test_csv_reads_back_as_the_summary(report: dict[str, bytes], findings: Findings) -> None:
    read = list(csv.DictReader(io.StringIO(report["table.csv"].decode())))
    expected = table.summary(findings.results, findings.kinds)
    assert [row.pop("method") for row in read] == list(expected.pop("method"))
    for yes in ("trains_all", "flagged"):
        assert [row.pop(yes) for row in read] == [str(value) for value in expected.pop(yes)]
    assert [{name: float(value) for name, value in row.items()} for row in read] == expected.to_dict("records")
