"""The store: entries appear whole, are verified when read, and are found again by key."""

import os
import time

import pytest

from awt.errors import InputError
from awt.runtime.store import Store

KEY = "ab" + "0" * 62
FILES = {"a.npz": b"first", "b.csv": b"second"}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_what_is_put_is_found(store):
    assert store.find(KEY) is None
    store.put(KEY, FILES, {"host": "here"})
    entry = store.find(KEY)
    assert {name: entry.read(name) for name in FILES} == FILES
    assert entry.about == {"host": "here"}
    assert list(store.every_key()) == [KEY]


def test_a_second_put_changes_nothing(store):
    store.put(KEY, FILES, {"host": "here"})
    store.put(KEY, FILES, {"host": "there"})
    assert store.find(KEY).about == {"host": "here"}
    assert not list((store.root / "cells").glob(".*"))


@pytest.mark.parametrize("name", ["a.npz", "b.csv"])
def test_a_flipped_bit_makes_an_entry_absent(store, name):
    store.put(KEY, FILES, {})
    path = store.find(KEY).path(name)
    data = bytearray(path.read_bytes())
    data[2] ^= 1
    path.write_bytes(data)
    assert store.find(KEY) is None
    assert len(list((store.root / "corrupt").iterdir())) == 1
    store.put(KEY, FILES, {})
    assert store.find(KEY) is not None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"digests": 3}'])
def test_a_damaged_description_makes_an_entry_absent(store, damage):
    store.put(KEY, FILES, {})
    (store.find(KEY).folder / "meta.json").write_text(damage)
    assert store.find(KEY) is None


def test_a_missing_file_makes_an_entry_absent(store):
    store.put(KEY, FILES, {})
    store.find(KEY).path("a.npz").unlink()
    assert store.find(KEY) is None


def test_half_an_entry_is_replaced(store):
    """As a kill in the middle of a removal leaves it."""
    store.put(KEY, FILES, {})
    (store.find(KEY).folder / "meta.json").unlink()
    store.find(KEY)
    store.put(KEY, FILES, {})
    assert store.find(KEY).read("a.npz") == b"first"


def test_a_failed_put_leaves_nothing(store, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(OSError, match="No space"):
        store.put(KEY, FILES, {})
    assert store.find(KEY) is None
    assert not [path for path in (store.root / "cells").rglob("*") if path.is_file()]


def test_put_drops_the_checkpoints_that_led_to_it(store):
    store.checkpoints(KEY).mkdir(parents=True)
    store.put(KEY, FILES, {})
    assert not store.checkpoints(KEY).exists()


def test_drop_frees_what_a_cell_took(store):
    store.put(KEY, FILES, {})
    assert store.drop(KEY) > len(b"firstsecond")
    assert store.find(KEY) is None
    assert list(store.every_key()) == []


def test_places_that_cannot_be_a_store(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "below"):
        with pytest.raises(InputError, match="is a file"):
            Store(path)


@pytest.mark.parametrize("years", [-30, 30])
def test_a_clock_that_is_off_loses_no_entry(store, years):
    """Files from the past or the future, as a node whose clock is off leaves them on a shared disk."""
    store.put(KEY, FILES, {})
    work(store)
    off = time.time() + years * 365 * 86400
    for path in [*store.root.rglob("*"), store.root]:
        os.utime(path, (off, off))
    assert store.find(KEY).read("a.npz") == b"first"
    assert store.age(KEY) == pytest.approx(max(0, -years) * 365 * 86400, abs=3600)


def work(store):
    store.describe(KEY, {"kind": "mask"})
    store.checkpoints(KEY).mkdir(parents=True)


def test_an_age_is_by_the_clock_of_the_disk(store, monkeypatch):
    store.put(KEY, FILES, {})
    monkeypatch.setattr("time.time", lambda: 0.0)  # this machine's, which may be off
    assert 0 <= store.age(KEY) < 3600
