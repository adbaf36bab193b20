"""The cell that takes its time: through a real executor it costs that time, and returns what it was asked for."""

from awt.planning.rehearsal import rest
from awt.runtime.cell import Cell
from awt.runtime.executor import open_executor
from awt.runtime.options import Runtime
from awt.runtime.store import Store


def test_it_takes_its_time_and_returns_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("awt.runtime.worker.pin", lambda count: None)  # the test process keeps its cores
    executor = open_executor("rehearsal", Runtime(executor="serial", device="cpu"), Store(tmp_path))
    cell = Cell("tile", "rest", f"{rest.__module__}:{rest.__name__}", {"seconds": 0.2, "bytes": 12})
    [entry] = executor.run([cell])
    assert len(entry.read("rest.bin")) == 12
    assert entry.about["seconds"] >= 0.2
