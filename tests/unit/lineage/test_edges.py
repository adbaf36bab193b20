"""Cells and checkpoints of the store that are no longer what was written are named."""

from dataclasses import asdict

import pytest

from awt.artifacts import encode_json, read_json, write
from awt.lineage.cells import Made
from awt.lineage.edges import Status, check_cells, check_checkpoints
from awt.runtime.cell import Cell, Surroundings, to_json
from awt.runtime.seals import seal, seals
from awt.runtime.store import Store

CODE = {"modules": {"x": "digest of other code than is here"}, "distributions": {"jax": "0"}, "python": "3.0"}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def keep(store):
    cell = Cell("mask", "mask awt-0.1-seed0", "x:y", {"seed": 0})
    surroundings = Surroundings("cpu", "")
    about = {"cell": to_json(cell), "surroundings": asdict(surroundings), "threads": 2, "code": CODE}
    return store.put(surroundings.key(cell, 2, CODE), {"mask.npz": b"mask"}, about)


def checked(store, key):
    [edge] = check_cells([Made(key, "mask awt-0.1-seed0", "mask", {}, store.peek(key))], store)
    return edge.status, edge.remark


def test_an_intact_cell(store):
    assert checked(store, keep(store).key) == (Status.OK, "")


def test_a_flipped_bit_of_a_cell(store):
    entry = keep(store)
    entry.path("mask.npz").write_bytes(b"masl")
    assert checked(store, entry.key) == (Status.MODIFIED, "the store's files are not what it computed")
    assert store.peek(entry.key) is not None  # looking moves nothing aside


@pytest.mark.parametrize("way", ["cell/params/seed", "code/modules/x", "surroundings/xla_flags", "threads"])
def test_an_edited_description_of_a_cell(store, way):
    entry = keep(store)
    meta = read_json(entry.path("meta.json"))
    *parents, last = way.split("/")
    section = meta["about"]
    for name in parents:
        section = section[name]
    section[last] = 1
    write(entry.path("meta.json"), encode_json(meta))
    assert checked(store, entry.key) == (Status.MODIFIED, "its description does not give its key")


def test_what_decides_nothing_may_be_called_otherwise(store):
    entry = keep(store)
    meta = read_json(entry.path("meta.json"))
    meta["about"]["cell"] |= {"label": "another", "tags": {"seed": 3}}
    write(entry.path("meta.json"), encode_json(meta))
    assert checked(store, entry.key) == (Status.OK, "")


def test_checkpoints(store):
    folder = store.checkpoints("ab" * 32)
    for step in (5, 10):
        write(folder / str(step) / "state" / "array", b"values")
        seal(folder, step)
    assert [edge.status for edge in check_checkpoints("ab" * 32, "mask", store)] == [Status.OK, Status.OK]
    write(folder / "10" / "state" / "array", b"valuez")
    found = {edge.name: edge.status for edge in check_checkpoints("ab" * 32, "mask", store)}
    assert found == {"abababababab, step 10": Status.MODIFIED, "abababababab, step 5": Status.OK}


def test_seals_of_checkpoints_that_are_gone_are_forgotten(store):
    folder = store.checkpoints("key")
    write(folder / "5" / "array", b"values")
    seal(folder, 5)
    (folder / "5").rename(folder / "6")
    seal(folder, 6)
    assert set(seals(folder)) == {"6"}
