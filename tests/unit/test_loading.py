"""Code that is named: what a reference is, and what is said of one that leads nowhere."""

import pytest

from awt.errors import InputError
from awt.loading import is_reference, load, references


@pytest.mark.parametrize("text", ["a:b", "awt.tickets.snip:METHOD", "_mine.x1:_y"])
def test_references_are_module_and_name(text):
    assert is_reference(text)


@pytest.mark.parametrize(
    "text", ["", "snip", "a:", ":b", "a:b:c", "a.b", "1a:b", "a b:c", "12:30", "s3://bucket", None, 3]
)
def test_other_values_are_none(text):
    assert not is_reference(text)
    with pytest.raises(InputError, match="does not name code: write module:name"):
        load(str(text))


def test_all_references_in_values_are_found():
    value = {"a": "one:x", "b": [{"c": ("two:y", "three")}, 4, None], "d:e": {"f": "four:z"}}
    assert list(references(value)) == ["one:x", "two:y", "four:z"]


def test_what_is_not_there_is_named():
    assert load("awt.loading:load") is load
    with pytest.raises(InputError, match=r"^awt\.nowhere:x: there is no module 'awt\.nowhere'"):
        load("awt.nowhere:x")
    with pytest.raises(InputError, match=r"^awt\.loading:nothing: the module awt\.loading has no 'nothing'"):
        load("awt.loading:nothing")


def test_a_fault_of_the_user_s_module_is_told_as_it_is(tmp_path, monkeypatch):
    """Not as if the module were missing, or the name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "needy.py").write_text("import a_library_of_nobody")
    with pytest.raises(InputError, match=r"^needy:x: there is no module 'a_library_of_nobody'"):
        load("needy:x")
    (tmp_path / "faulty.py").write_text("import awt\nawt.no_such_name")
    with pytest.raises(AttributeError, match="no_such_name"):
        load("faulty:x")
