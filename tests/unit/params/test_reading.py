"""An experiment's params.yaml is read over those of its bases."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from awt.errors import InputError
from awt.params.reading import PARAMS, read, read_file


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Makes the params.yaml of a folder."""

    def make(folder: str, **values: Any) -> Path:
        path = tmp_path / folder / PARAMS
        path.parent.mkdir(parents=True, exist_ok=True)
        YAML(typ="safe", pure=True).dump(values, path)
        return path.parent

    return make


def test_without_a_base_it_is_what_the_file_says(write: Callable[..., Path]) -> None:
    values = {"root": ".", "seeds": [0], "data": {"name": "digits"}}
    assert read(write("one", **values)) == values


def test_bases_merge_and_the_nearest_counts(write: Callable[..., Path]) -> None:
    write(
        "first", seeds=[0, 1], retrain={"epochs": 9, "attack": {"steps": 10, "random_start": True}}, threat={"eps": 1}
    )
    write("second", base="../first", retrain={"attack": {"steps": 20}}, threat={"eps": 2})
    third = write("third", base="../second", root="..", threat={"norm": "l2"})
    assert read(third) == {
        "root": "..",
        "base": "../second",
        "seeds": [0, 1],
        "retrain": {"epochs": 9, "attack": {"steps": 20, "random_start": True}},
        "threat": {"eps": 2, "norm": "l2"},
    }


def test_a_list_replaces_and_so_does_null(write: Callable[..., Path]) -> None:
    write("first", seeds=[0, 1, 2], data={"train_limit": 9}, model={"widths": [3, 4, 5]})
    own = read(write("own", base="../first", seeds=[7], data={"train_limit": None}, model={"widths": [1]}))
    assert (own["seeds"], own["data"], own["model"]) == ([7], {"train_limit": None}, {"widths": [1]})


def test_where_the_base_is_is_its_own_business(write: Callable[..., Path], tmp_path: Path) -> None:
    """Its way to the repository does not count; files that it names are found from another folder too."""
    base = write("base", root="..", data={"root": "files", "path": "/mine.npz"}, runtime={"store": "../shelf"})
    own = read(write("family/own", base="../../base"))
    assert "root" not in own
    assert (tmp_path / "family" / "own" / own["data"]["root"]).resolve() == base / "files"
    assert (tmp_path / "family" / "own" / own["runtime"]["store"]).resolve() == tmp_path / "shelf"
    assert own["data"]["path"] == "/mine.npz"


def test_a_store_at_a_url_stays_there(write: Callable[..., Path]) -> None:
    write("base", runtime={"store": "s3://bucket/store"})
    assert read(write("own", base="../base"))["runtime"]["store"] == "s3://bucket/store"


@pytest.mark.parametrize("length", [1, 2, 3])
def test_bases_that_lead_back_are_refused(write: Callable[..., Path], length: int) -> None:
    folders = [f"number{number}" for number in range(length)]
    for folder, base in itertools.pairwise([*folders, folders[0]]):
        write(folder, base=f"../{base}")
    with pytest.raises(InputError, match=r"params\.yaml: base: \.\./number0 leads back to this experiment"):
        read(write("number0", base=f"../{folders[1 % length]}"))


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("../absent", r"base: \.\./absent has no params\.yaml: name the folder of an experiment"),
        ("params.yaml", r"base: params\.yaml has no params\.yaml"),
        (["../one"], r"base: expected the folder of an experiment \(got \['\.\./one'\]\)"),
        (3, "base: expected the folder of an experiment"),
    ],
)
def test_bases_that_are_no_experiments_are_refused(write: Callable[..., Path], base: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write("own", base=base))


def test_a_fault_in_a_base_is_named_by_its_file(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / PARAMS).write_text("a: [")
    with pytest.raises(InputError, match=r"broken/params\.yaml: not readable YAML"):
        read(write("own", base="../broken"))


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "a: 1\na: 2", "\x00"])
def test_files_that_are_not_parameters(tmp_path: Path, text: str) -> None:
    (tmp_path / PARAMS).write_text(text)
    with pytest.raises(InputError, match=r"params\.yaml"):
        read(tmp_path)


def test_a_folder_without_parameters_is_told_where_to_go(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run from the folder of an experiment"):
        read(tmp_path)


def test_the_reading_is_that_of_dvc(tmp_path: Path) -> None:
    """YAML 1.2: 1e-3 is a number (PyYAML's 1.1 reads a string), and `no` is a word."""
    (tmp_path / PARAMS).write_text("rate: 3e-3\nanswer: no\n")
    assert read_file(tmp_path / PARAMS) == {"rate": 0.003, "answer": "no"}
