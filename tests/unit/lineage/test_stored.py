"""Cells and checkpoints of the store that are no longer what was written are named."""

from dataclasses import asdict

import pytest

from awt.artifacts import encode_json, read_json, write
from awt.lineage.cells import Made, Ticket, part
from awt.lineage.edges import Status
from awt.lineage.stored import check_cells, check_checkpoints
from awt.runtime.cell import Cell
from awt.runtime.store import Store
from awt.runtime.cell import Surroundings, to_json
from awt.runtime.seals import seal, seals


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def keep(store):
    cell = Cell("mask", "mask awt 0.1 seed 0", "awt.x:y", {"seed": 0})
    surroundings = Surroundings("code", "cpu", "")
    about = {"cell": to_json(cell), "surroundings": asdict(surroundings), "threads": 2, "versions": {"jax": "0"}}
    key = surroundings.key(cell, 2, {"jax": "0"})
    return store.put(key, {"mask.npz": b"mask"}, about)


def checked(store, key):
    [edge] = check_cells([Made(key, "mask awt 0.1 seed 0", "mask", {}, store.peek(key))], store)
    return edge.status, edge.remark


def test_an_intact_cell(store):
    assert checked(store, keep(store).key) == (Status.OK, "")


def test_a_flipped_bit_of_a_cell(store):
    entry = keep(store)
    entry.path("mask.npz").write_bytes(b"masl")
    assert checked(store, entry.key) == (Status.MODIFIED, "the store's files are not what it computed")
    assert store.peek(entry.key) is not None  # looking moves nothing aside


def test_an_edited_description_of_a_cell(store):
    entry = keep(store)
    meta = read_json(entry.path("meta.json"))
    meta["about"]["cell"]["params"]["seed"] = 1
    write(entry.path("meta.json"), encode_json(meta))
    assert checked(store, entry.key) == (Status.MODIFIED, "its description does not give its key")


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


def test_what_labels_and_files_are_about():
    ticket = Ticket.of_file("awt_paper-0.03-seed1.npz")
    assert ticket == ("awt_paper", 0.03, 1)
    assert Ticket.of_file("seed-0.npz") is None
    assert ticket.matches("evaluate awt_paper 0.03 seed 1 pgd100 points 0-9")
    assert not ticket.matches("evaluate awt_paper 0.03 seed 11 pgd100 points 0-9")
    assert not ticket.matches("mask awt 0.03 seed 1")
    assert ticket._replace(seed=None).matches("mask awt_paper 0.03 seed 7")
    labels = ["mask awt 0.1 seed 3", "initial weights seed 0", "teacher of 2 epochs seed 0", "dense side awt seed 1"]
    assert [part(label) for label in labels] == ["mask", "initial", "teacher", "dense side"]
    assert part("evaluate awt 0.1 seed 0 pgd100 points 0-9") == "evaluate pgd100 points 0-9"
