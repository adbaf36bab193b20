"""Executors: what is in the store is reused, what fails is told, what others computed is trusted only if intact."""

import os

import numpy as np
import pytest

from awt.artifacts import encode_npy, encode_npz, write
from awt.errors import InputError, WorkError
from awt.params import Runtime
from awt.runtime.cell import Cell, Source
from awt.runtime.executor import open_executor
from awt.runtime.store import Store
from awt.runtime.context import StopFlag
from awt.runtime.device import platform
from awt.runtime.ray_cluster import check_reachable
from awt.runtime.ray_tasks import Parcel
from awt.runtime.worker import Outcome


@pytest.fixture(autouse=True)
def free_cores(monkeypatch):
    """The test process keeps its cores."""
    monkeypatch.setattr("awt.runtime.worker.pin", lambda count: None)


MODEL = {"name": "mlp", "widths": [4], "init": "glorot"}


DATA = {"shape": [8, 8, 1], "classes": 10, "mean": [0.3], "std": [0.4]}


@pytest.fixture
def points(tmp_path):
    write(tmp_path / "x.npy", encode_npy(np.random.default_rng(0).random((10, 8, 8, 1), np.float32)))
    return Source.of(tmp_path / "x.npy")


@pytest.fixture
def weights(tmp_path):
    layers = {"dense1": (64, 4), "dense2": (4, 10)}
    arrays = {}
    for name, shape in layers.items():
        arrays[f"{name}/kernel"] = np.ones(shape, np.float32)
        arrays[f"{name}/bias"] = np.zeros(shape[1], np.float32)
    write(tmp_path / "weights.npz", encode_npz(arrays))
    return Source.of(tmp_path / "weights.npz")


def tile(points, weights, rows):
    params = {"model": MODEL, "data": DATA, "rows": rows, "columns": [0, 5], "program": [5, 5]}
    params |= {"shape": "trace", "projected": True, "engine": "exact"}
    return Cell("tile", f"tile {rows}", "awt.kernels.gram:tile", params, {"rows": points, "weights": weights})


def executor(store, code="code"):
    return open_executor("kernel", Runtime(executor="serial", device="cpu"), store, code)


def test_cells_are_computed_once(tmp_path, points, weights):
    store = Store(tmp_path / "store")
    cells = [tile(points, weights, rows) for rows in ([0, 5], [5, 10])]
    first = executor(store)
    entries = first.run(cells)
    assert (first.stats.computed, first.stats.reused) == (2, 0)
    second = executor(store)
    again = second.run([*reversed(cells), cells[0]])
    assert (second.stats.computed, second.stats.reused) == (0, 2)
    assert [entry.key for entry in again] == [entries[1].key, entries[0].key, entries[0].key]
    assert "done after" in store.log(entries[0].key).read_text()


def test_other_code_is_another_cell(tmp_path, points, weights):
    store = Store(tmp_path / "store")
    executor(store).run([tile(points, weights, [0, 5])])
    other = executor(store, code="other")
    other.run([tile(points, weights, [0, 5])])
    assert other.stats.computed == 1


def test_a_damaged_entry_is_computed_again(tmp_path, points, weights):
    store = Store(tmp_path / "store")
    entry = executor(store).run([tile(points, weights, [0, 5])])[0]
    whole = entry.read("tile.npy")
    entry.path("tile.npy").write_bytes(whole[:-1])
    second = executor(store)
    assert second.run([tile(points, weights, [0, 5])])[0].read("tile.npy") == whole
    assert second.stats.computed == 1


def test_one_failure_does_not_stop_the_others(tmp_path, points, weights):
    store = Store(tmp_path / "store")
    bad = tile(points, weights, "not a range")
    work = executor(store)
    with pytest.raises(WorkError, match=r"awt logs [0-9a-f]{12}.*awt rerun [0-9a-f]{12} --serial"):
        work.run([bad, tile(points, weights, [5, 10])])
    assert work.stats.computed == 1
    key = work.key(bad)
    assert "Traceback" in store.log(key).read_text()
    assert store.find(key) is None


def test_only_functions_of_awt_are_called(tmp_path):
    cell = Cell("tile", "evil", "os:system", {"command": "true"})
    with pytest.raises(InputError, match="os:system is not one of awt's"):
        executor(Store(tmp_path / "store")).run([cell])


def test_an_input_that_changed_under_way_is_noticed(tmp_path, points, weights):
    cell = tile(Source(points.path, "0" * 64), weights, [0, 5])
    with pytest.raises(WorkError, match="input rows is no longer what"):
        executor(Store(tmp_path / "store")).run([cell])


def test_a_parcel_brings_every_byte():
    outcome = Outcome(files={"a": b"first", "empty": b""}, seconds=1.5, host="there")
    back = Parcel.wrap(outcome).unwrap()
    assert {name: bytes(data) for name, data in back.files.items()} == outcome.files
    assert (back.seconds, back.host, back.failure) == (1.5, "there", None)


def test_devices():
    assert platform("auto", [], "here") == "cpu"
    assert platform("cpu", ["A100"], "here") == "cpu"
    assert platform("auto", ["V100", "A100", "A100"], "here") == "gpu:A100+V100"
    with pytest.raises(InputError, match="here has no GPU"):
        platform("gpu", [], "here")


@pytest.mark.parametrize(
    "address", ["somewhere", "127.0.0.1:notaport", "127.0.0.1:1", "ray://127.0.0.1:1", "ray://somewhere"]
)
def test_addresses_that_nobody_answers_at(address):
    with pytest.raises(InputError, match="RAY_ADDRESS"):
        check_reachable(address)


def test_a_signal_sets_the_flag_and_the_second_one_acts():
    import signal

    before = signal.getsignal(signal.SIGTERM)
    with StopFlag().catching() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.is_set
        assert signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGTERM) == before
