"""Executors: what is in the store is reused, what fails is told, what others computed is trusted only if intact."""

import os
from dataclasses import replace

import numpy as np
import pytest

from awt.artifacts import encode_npy, encode_npz, write
from awt.errors import InputError, WorkError
from awt.runtime.cell import Cell, Source, Surroundings, from_json
from awt.runtime.context import StopFlag
from awt.runtime.device import platform
from awt.runtime.executor import open_executor
from awt.runtime.options import Resources, Runtime
from awt.runtime.ray_cluster import check_reachable
from awt.runtime.ray_tasks import Parcel
from awt.runtime.store import Store
from awt.runtime.worker import Outcome


@pytest.fixture(autouse=True)
def free_cores(monkeypatch):
    """The test process keeps its cores."""
    monkeypatch.setattr("awt.runtime.worker.pin", lambda count: None)


MODEL = {"name": "awt.models.mlp:MLP", "widths": [4], "init": "glorot"}


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
    return Cell("tile", f"tile {rows}", "awt.cells.gram:tile", params, {"rows": points, "weights": weights})


def executor(store, **runtime):
    return open_executor("kernel", Runtime(executor="serial", device="cpu", **runtime), store)


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


def test_other_settings_are_another_cell_and_other_words_are_not(tmp_path, points, weights):
    store = Store(tmp_path / "store")
    cell = tile(points, weights, [0, 5])
    executor(store).run([cell])
    again = executor(store, retries=0, resources={"mask": Resources(cpus=2)})
    again.run([replace(cell, label="another label", tags={"method": "dense"})])
    assert (again.stats.computed, again.stats.reused) == (0, 1)
    other = executor(store)
    other.run([replace(cell, params={**cell.params, "shape": "full"})])
    assert (other.stats.computed, other.stats.reused) == (1, 0)
    assert other.key(cell) != executor(store, resources={"tile": Resources(cpus=2)}).key(cell)


def test_an_entry_says_how_it_came_about(tmp_path, points, weights):
    work = executor(Store(tmp_path / "store"))
    work.run_id = "a run"
    cell = replace(tile(points, weights, [0, 5]), tags={"seed": 3})
    [entry] = work.run([cell])
    about = work.store.find(entry.key).about
    assert about["code"] == cell.code.as_json()
    assert about["surroundings"]["platform"] == "cpu"
    assert about["surroundings"]["jax"]["jax_default_prng_impl"] == "threefry2x32"
    assert (about["threads"], about["run"], about["cell"]["tags"]) == (1, "a run", {"seed": 3})
    surroundings = Surroundings(**about["surroundings"])
    assert surroundings.key(from_json(about["cell"]), about["threads"], about["code"]) == entry.key
    assert [one["tags"] for one in work.stats.cells] == [{"seed": 3}]


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


def test_functions_of_installed_packages_are_not_called(tmp_path):
    for function in ("os:system", "numpy:array", "nowhere:function"):
        cell = Cell("tile", "evil", function, {"command": "true"})
        with pytest.raises(InputError, match="no module of awt or of yours"):
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
