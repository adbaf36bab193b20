"""Cells that lag behind their kin are found, once each."""

from awt.runtime.cell import Cell
from awt.runtime.pace import Pace


def cell(label):
    return Cell("mask", label, "awt.nowhere:nothing", {})


def finished(pace, label, *seconds):
    for number, one in enumerate(seconds):
        pace.finish(f"{label} {number}", cell(label), one)


def test_a_cell_that_takes_several_times_the_median_is_told_once():
    pace = Pace()
    finished(pace, "mask awt 0.1 seed 0", 10, 11, 300)
    pace.begin("slow", cell("mask awt 0.3 seed 1"), now=100.0)
    pace.begin("slow", cell("mask awt 0.3 seed 1"), now=120.0)
    assert pace.lagging(now=140.0) == []
    assert pace.lagging(now=150.0) == [("slow", 50.0, 11)]
    assert pace.lagging(now=1500.0) == []


def test_other_kin_few_kin_and_short_cells_say_nothing():
    pace = Pace()
    finished(pace, "mask random 0.1", 1, 1, 1, 1)
    finished(pace, "mask awt 0.1", 100, 100)
    pace.begin("another method", cell("mask awt 0.1"), now=0.0)
    assert pace.lagging(now=9000.0) == []
    pace.begin("short", cell("mask random 0.1"), now=9000.0)
    assert pace.lagging(now=9009.0) == []


def test_a_lost_cell_begins_anew():
    pace = Pace()
    finished(pace, "mask random 0.1", 5, 5, 5)
    pace.begin("lost", cell("mask random 0.1"), now=0.0)
    pace.forget("lost")
    pace.begin("lost", cell("mask random 0.1"), now=1000.0)
    assert pace.lagging(now=1019.0) == []
