"""What a stage prints where there is no terminal: a line a cell, and seldom how many run where."""

import re

from awt.runtime import progress as module
from awt.runtime.progress import Progress


def test_nodes_are_named_where_there_are_several(capsys, monkeypatch):
    monkeypatch.setattr(module, "PLACES_SECONDS", 0.0)
    with Progress("mask", 4, reused=1) as progress:
        progress.start("mask a", "10.0.0.7")
        progress.start("mask b", "10.0.0.8")
        progress.lag("mask a", 52.0, 11.0)
        progress.retry("mask a", "its worker was lost")
        progress.start("mask c", "10.0.0.8")
        progress.finish("mask b", 3.0, "10.0.0.8")
        progress.fail("mask c", "no")
    assert re.sub(r"\d+\.\d s$", "…", capsys.readouterr().out.strip()).splitlines() == [
        "mask: 4 cells, 1 reused",
        "mask: running: 1 on 10.0.0.7",
        "mask: running: 1 on 10.0.0.7, 1 on 10.0.0.8",
        "mask: slow: mask a runs for 52 s on 10.0.0.7; half of its like took 11.0 s",
        "mask: retry mask a on 10.0.0.7: its worker was lost",
        "mask: running: 2 on 10.0.0.8",
        "mask: [2/4] mask b  3.0 s on 10.0.0.8",
        "mask: FAILED mask c: no",
        "mask: 1 computed, 1 reused, 1 failed, …",
    ]


def test_and_are_not_where_there_is_one(capsys):
    with Progress("mask", 1) as progress:
        progress.start("mask a")
        progress.finish("mask a", 3.0)
    assert "mask: [1/1] mask a  3.0 s\n" in capsys.readouterr().out
