"""`awt new`: what it makes, and what it refuses, in a repository of little more than the parameters."""

import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from awt.params.reading import read_file
from awt.workflows.experiment import experiment

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with the default experiment and one more, and the current folder."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(PROJECT / name, tmp_path / name)
    (tmp_path / "stages").mkdir()
    shutil.copytree(PROJECT / "pipelines" / "mask_methods", tmp_path / "pipelines" / "other", symlinks=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AWT_STORE", raising=False)
    return tmp_path


def test_it_differs_from_the_default_experiment_in_nothing(repository, awt):
    code, out, err = awt("new", "mine")
    folder = repository / "pipelines" / "mine"
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        str(folder),
        "change its params.yaml, then: cd pipelines/mine && awt plan && dvc repro dvc.yaml",
    ]
    assert read_file(folder / "params.yaml") == {"root": "../..", "base": "../.."}
    assert (folder / "dvc.yaml").is_symlink()
    assert (folder / "dvc.yaml").resolve() == (repository / "dvc.yaml").resolve()
    assert "cd pipelines/mine && dvc repro dvc.yaml" in (folder / "README.md").read_text()


def effective(folder):
    asked = experiment(folder)
    return asked.workflow.effective(asked.params)


@pytest.mark.parametrize("name", ["mine", "family/child"])
def test_the_new_experiment_passes_the_check(repository, awt, monkeypatch, name):
    assert awt("new", name)[0] == 0
    monkeypatch.chdir(repository / "pipelines" / name)
    assert awt("check") == (0, "params.yaml is valid\n", "")
    assert experiment().repository.resolve() == repository.resolve()


def test_what_is_suggested_can_be_had(repository, awt):
    """The hints that its params.yaml ends with are parameters, once they are no comments."""
    awt("new", "mine")
    path = repository / "pipelines" / "mine" / "params.yaml"
    text, _, hints = path.read_text().partition("# Change what you ask about, for example:\n#\n")
    path.write_text(text + hints.replace("# ", ""))
    assert experiment(path.parent).params.seeds == (0, 1, 2)
    assert experiment(path.parent).params.recipe("awt").options.gamma == 1e-3


@pytest.mark.parametrize(
    ("here", "given"), [(".", "pipelines/other"), ("pipelines/other", "."), ("stages", "pipelines/other")]
)
def test_from_another_experiment_and_from_anywhere(repository, awt, monkeypatch, here, given):
    monkeypatch.chdir(repository / here)
    code, out, _ = awt("new", "mine", "--from", given)
    assert code == 0
    made, source = (repository / "pipelines" / name for name in ("mine", "other"))
    assert effective(made) == effective(source)
    assert "`pipelines/other`" in (made / "README.md").read_text()
    way = out.split("cd ")[1].split(" &&")[0]
    assert Path(way).resolve() == made


def test_the_base_may_change_later(repository, awt):
    awt("new", "mine", "--from", "pipelines/other")
    base = repository / "pipelines" / "other" / "params.yaml"
    YAML(typ="safe", pure=True).dump(read_file(base) | {"seeds": [7]}, base)
    assert experiment(repository / "pipelines" / "mine").params.seeds == (7,)


def test_a_workflow_of_one_s_own_keeps_its_pipeline(repository, awt):
    (repository / "pipelines" / "other" / "dvc.yaml").unlink()
    (repository / "pipelines" / "other" / "dvc.yaml").write_text("stages: {}\n")
    awt("new", "mine", "--from", "pipelines/other")
    assert (repository / "pipelines" / "mine" / "dvc.yaml").readlink() == Path("../other/dvc.yaml")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other", "exists already"),
        ("other/inner", "is an experiment"),
        ("../mine", "is not a folder of pipelines/"),
        ("/tmp/mine", "is not a folder of pipelines/"),
        ("a//b", "is not a folder of pipelines/"),
        ("", "is not a folder of pipelines/"),
        (".hidden", "is not a folder of pipelines/"),
        ("my experiment", "is not a folder of pipelines/"),
    ],
)
def test_names_that_are_refused(repository, awt, name, message):
    before = sorted(repository.rglob("*"))
    code, out, err = awt("new", "--", name)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(repository.rglob("*")) == before


def test_sources_that_are_refused(repository, awt, tmp_path, monkeypatch):
    assert "--from: stages has no params.yaml" in awt("new", "mine", "--from", "stages")[2]
    (repository / "pipelines" / "other" / "params.yaml").write_text("root: .\n")
    code, _, err = awt("new", "mine", "--from", "pipelines/other")
    assert code == 2
    assert "pipelines/other/params.yaml: seeds: missing" in err
    assert not (repository / "pipelines" / "mine").exists()
    monkeypatch.chdir("/")
    assert "lies in no repository of awt" in awt("new", "mine")[2]
