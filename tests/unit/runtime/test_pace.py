"""Cells that lag behind their kin are found, once each."""

from awt.runtime.cell import Cell
from awt.runtime.pace import Pace


def cell(method, seed=0):
    return Cell("mask", f"mask {method}", "awt.nowhere:nothing", {}, tags={"method": method, "seed": seed})


def finished(pace, method, *seconds):
    for number, one in enumerate(seconds):
        pace.finish(f"{method} {number}", cell(method, number), one)


def test_a_cell_that_takes_several_times_the_median_is_told_once():
    pace = Pace()
    finished(pace, "awt", 10, 11, 300)
    pace.begin("slow", cell("awt", seed=1), now=100.0)
    pace.begin("slow", cell("awt", seed=1), now=120.0)
    assert pace.lagging(now=140.0) == []
    assert pace.lagging(now=150.0) == [("slow", 50.0, 11)]
    assert pace.lagging(now=1500.0) == []


def test_other_kin_few_kin_and_short_cells_say_nothing():
    pace = Pace()
    finished(pace, "random", 1, 1, 1, 1)
    finished(pace, "awt", 100, 100)
    pace.begin("another method", cell("awt"), now=0.0)
    assert pace.lagging(now=9000.0) == []
    pace.begin("short", cell("random"), now=9000.0)
    assert pace.lagging(now=9009.0) == []


def test_a_lost_cell_begins_anew():
    pace = Pace()
    finished(pace, "random", 5, 5, 5)
    pace.begin("lost", cell("random"), now=0.0)
    pace.forget("lost")
    pace.begin("lost", cell("random"), now=1000.0)
    assert pace.lagging(now=1019.0) == []
