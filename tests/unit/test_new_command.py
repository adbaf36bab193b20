"""`awt new`: what it makes, and what it refuses, in a repository of little more than the parameters."""

import shutil
import sys
from pathlib import Path

import pytest

from awt import cli, params

PROJECT = Path(__file__).parents[2]


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


@pytest.fixture
def awt(monkeypatch, capsys):
    """Runs `awt` in this process; returns its exit code and what it said."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["awt", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return run


def test_a_copy_of_the_default_experiment(repository, awt):
    code, out, err = awt("new", "mine")
    folder = repository / "pipelines" / "mine"
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        str(folder),
        "change its params.yaml, then: cd pipelines/mine && awt plan && dvc repro dvc.yaml",
    ]
    ours, theirs = ((one / "params.yaml").read_text().splitlines() for one in (folder, repository))
    changed = [(mine, other) for mine, other in zip(ours, theirs, strict=True) if mine != other]
    assert len(changed) == 1
    assert changed[0][0] == changed[0][1].replace("root: .    ", "root: ../..")
    assert (folder / "dvc.yaml").is_symlink()
    assert (folder / "dvc.yaml").resolve() == (repository / "dvc.yaml").resolve()
    assert "dvc repro pipelines/mine/dvc.yaml" in (folder / "README.md").read_text()


@pytest.mark.parametrize("name", ["mine", "family/child"])
def test_the_new_experiment_passes_the_check(repository, awt, monkeypatch, name):
    assert awt("new", name)[0] == 0
    monkeypatch.chdir(repository / "pipelines" / name)
    assert awt("check") == (0, "params.yaml is valid\n", "")
    assert (Path.cwd() / params.load().root).resolve() == repository.resolve()


@pytest.mark.parametrize(
    ("here", "given"), [(".", "pipelines/other"), ("pipelines/other", "."), ("stages", "pipelines/other")]
)
def test_from_another_experiment_and_from_anywhere(repository, awt, monkeypatch, here, given):
    monkeypatch.chdir(repository / here)
    code, out, _ = awt("new", "mine", "--from", given)
    assert code == 0
    made, source = (params.load(repository / "pipelines" / name / "params.yaml") for name in ("mine", "other"))
    assert made == source
    assert "`pipelines/other`" in (repository / "pipelines" / "mine" / "README.md").read_text()
    way = out.split("cd ")[1].split(" &&")[0]
    assert Path(way).resolve() == repository / "pipelines" / "mine"


def test_files_named_relative_to_the_old_folder_are_pointed_out(repository, awt):
    text = (repository / "params.yaml").read_text().replace("  store: null ", "  store: shelf ")
    (repository / "params.yaml").write_text(text)
    assert "note: runtime.store: shelf now starts from this folder" in awt("new", "mine")[1]


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
    assert "seeds: missing" in err
    assert not (repository / "pipelines" / "mine").exists()
    monkeypatch.chdir("/")
    assert "lies in no repository of awt" in awt("new", "mine")[2]
