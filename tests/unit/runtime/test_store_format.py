"""A store that an older awt filled: it is said once, and nothing of it is used or lost."""

import pytest

from awt.artifacts import encode_json
from awt.runtime.store import Store

KEY = "ab" + "0" * 62


@pytest.fixture
def old(tmp_path):
    """A store as awt 0.1 left it: a finished cell, and no word on the format."""
    folder = tmp_path / "store" / "cells" / KEY[:2] / KEY
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"content")
    (folder / "meta.json").write_bytes(encode_json({"key": KEY, "digests": {}, "about": {"versions": {}}}))
    return tmp_path / "store"


def test_it_is_said_in_one_line_and_once(old, capsys):
    Store(old)
    said = capsys.readouterr()
    assert said.out == ""
    [line] = said.err.splitlines()
    assert line.startswith(f"{old}: its cells were computed by awt 0.1")
    assert "`awt store gc --days 0` drops the old ones" in line
    Store(old)
    assert capsys.readouterr().err == ""


def test_its_cells_stay_until_they_are_dropped(old):
    store = Store(old)
    assert list(store.every_key()) == [KEY]
    assert (old / "cells" / KEY[:2] / KEY / "file").read_bytes() == b"content"
    assert store.drop(KEY) > 0
    assert list(store.every_key()) == []


def test_a_new_store_says_nothing(tmp_path, capsys):
    store = Store(tmp_path / "store")
    store.put(KEY, {"file": b"content"}, {})
    Store(tmp_path / "store")
    assert capsys.readouterr().err == ""
