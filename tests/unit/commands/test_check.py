"""`awt check`: what it says of parameters, and that it shows the whole of what a base and defaults give."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from awt.artifacts import encode_json, write
from awt.workflows.experiment import experiment

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An experiment whose base is the default one, and the current folder."""
    (tmp_path / "params.yaml").write_text(f"root: .\nbase: {PROJECT}\nretrain: {{epochs: 7}}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWT_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("AWT_EXECUTOR", raising=False)
    return tmp_path


def test_valid_parameters(folder, awt):
    assert awt("check") == (0, "params.yaml is valid\n", "")


def test_it_shows_what_the_stages_depend_on_and_how_it_runs(folder, awt):
    code, out, err = awt("check", "--show")
    assert (code, err) == (0, "")
    shown = YAML(typ="safe", pure=True).load(out)
    assert (shown["workflow"], shown["retrain"]["epochs"]) == ("tickets", 7)
    assert shown["tickets"]["recipes"]["random"]["options"] == {"scope": "global", "layer_counts_of": None}
    asked = experiment()
    assert asked.workflow.effective(asked.params).items() <= shown.items()
    assert shown["runtime"]["resources"] == {}


def test_the_base_may_be_at_fault(folder, awt):
    (folder / "params.yaml").write_text("base: absent\n")
    code, out, err = awt("check")
    assert (code, out) == (2, "")
    assert err == "error: params.yaml: base: absent has no params.yaml: name the folder of an experiment\n"


@pytest.mark.parametrize("root", ["inner", "absent"])
def test_the_way_to_the_repository_must_lead_there(folder, awt, root):
    (folder / "inner").mkdir()
    text = (folder / "params.yaml").read_text()
    (folder / "params.yaml").write_text(text.replace("root: .", f"root: {root}"))
    code, _, err = awt("check")
    assert code == 2
    assert err == f"error: params.yaml: root: {root} is no folder that this experiment lies in\n"


def test_data_that_are_here_must_fit(folder, awt):
    described = {"counts": {"train": 10}, "shape": [8, 8, 1], "classes": 10}
    write(folder / "artifacts" / "data" / "dataset.json", encode_json(described))
    code, _, err = awt("check")
    assert code == 2
    assert "kernel.reference_points: 128 is more than the 10 training points" in err


def test_the_environment_is_checked_too(folder, awt, monkeypatch):
    monkeypatch.setenv("AWT_EXECUTOR", "dask")
    assert awt("check")[2] == "error: AWT_EXECUTOR: 'dask' is neither ray nor serial\n"
    monkeypatch.delenv("AWT_EXECUTOR")
    monkeypatch.setenv("AWT_STORE", str(folder / "params.yaml"))
    assert "params.yaml is a file, or lies under one" in awt("check", "--show")[2]
