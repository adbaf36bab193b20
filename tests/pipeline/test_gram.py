"""`awt gram` in an experiment that has run: any of its networks, any of its points."""

import re
import sys

import numpy as np
import pytest

from awt.commands import main as cli
from awt.kernels.diagnostics import distance
from awt.kernels.tiles import Gram


def awt_gram(workspace, *words):
    return workspace.command(sys.executable, "-c", "from awt.commands.main import main; main()", "gram", *words)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_computes_once_what_the_store_lacks(finished, copy_of):
    workspace = copy_of(finished)
    ticket = ("--method", "awt", "--density", "0.1", "--trained")
    asked = (*ticket, "--points", "test", "--count", "30", "--other", "adversarial", "--classes", "full")
    counts = []
    for out in ("first", "second", "first"):
        done = awt_gram(workspace, *asked, "--memory-gb", "2.2e-4", "--out", out)
        assert done.returncode == 0, done.stderr
        assert "\n30 x 30 points x 10 x 10; " in done.stdout
        assert done.stdout.endswith(f"{workspace.folder / out}\n")
        counts.append(re.search(r"\n(\d+) tiles computed, (\d+) reused\n", done.stdout).groups())
    assert files(workspace.folder / "first") == files(workspace.folder / "second")
    gram = Gram(workspace.folder / "first")
    tiles = len(gram.index.as_json()["tiles"])
    assert tiles > 1
    assert f"; {tiles} tiles of side {gram.index.side}, engine exact\n" in done.stdout
    assert counts == [(str(tiles), "0"), ("0", str(tiles)), ("0", str(tiles))]
    assert not gram.index.symmetric
    assert f"trace {gram.trace():.6g}, largest singular value" in done.stdout
    assert gram.index.about["method"] == "awt"
    assert gram.index.about["trained"]
    assert gram.index.about["columns"] == {"part": "test", "adversarial": True}


def test_by_default_it_is_the_kernel_stage_s(finished, copy_of):
    workspace = copy_of(finished)
    done = awt_gram(workspace, "--out", "gram")
    tiles = len(files(workspace.folder / "artifacts" / "gram" / "seed-0")) - 1
    assert tiles > 1
    assert f"\n0 tiles computed, {tiles} reused\n" in done.stdout, done.stdout + done.stderr
    assert files(workspace.folder / "gram") == files(workspace.folder / "artifacts" / "gram" / "seed-0")
    values = np.linalg.eigvalsh(Gram(workspace.folder / "gram").dense())
    assert f"trace {values.sum():.6g}, largest eigenvalue {values[-1]:.6g}\n" in done.stdout


def test_a_ticket_has_a_kernel_of_its_own(finished, copy_of):
    workspace = copy_of(finished)
    for out, words in {
        "dense": [],
        "projected": ["--method", "random", "--density", "0.3"],
        "unprojected": ["--method", "random", "--density", "0.3", "--unprojected"],
    }.items():
        done = awt_gram(workspace, *words, "--out", out)
        assert done.returncode == 0, done.stderr
    dense, projected, unprojected = (
        Gram(workspace.folder / name) for name in ("dense", "projected", "unprojected")
    )  # fmt: skip
    assert distance(dense, projected) > 0.001
    assert distance(projected, unprojected) > 0.001
    assert projected.trace() < unprojected.trace()


MISTAKES = {
    "unknown method": (["--method", "awtt"], "--method: the experiment has no 'awtt', only awt, dense, random"),
    "no density": (["--method", "awt"], "--density: is needed; the tickets of awt have 0.1, 0.3"),
    "unknown density": (["--method", "awt", "--density", "0.2"], "--density: 0.2 is not there"),
    "a dense network of half the weights": (["--density", "0.5"], "--density: 0.5 of the dense network"),
    "unknown seed": (["--seed", "7"], "--seed: 7 is not one of the experiment's [0]"),
    "too many points": (["--count", "257"], "--count: 257 of the 256 train points"),
    "no points": (["--count", "0"], "--count: 0 of the 256 train points"),
    "no memory": (["--memory-gb", "0"], "--memory-gb: 0 is no amount of memory"),
    "out is a file": (["--out", "params.yaml"], "--out: params.yaml is a file"),
    "out lies under a file": (["--out", "params.yaml/gram"], "--out: params.yaml/gram lies under"),
    "out is in use": (["--out", "."], "--out: . has other things in it than a Gram matrix"),
}


@pytest.fixture
def refused(monkeypatch, capsys):
    """What `awt gram` says in an experiment, in this process, when it refuses."""

    def refuse(workspace, *words):
        monkeypatch.chdir(workspace.folder)
        monkeypatch.setenv("AWT_EXECUTOR", "serial")
        monkeypatch.setattr(sys, "argv", ["awt", "gram", "--out", "never", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert len(said.err.splitlines()) == 1
        assert not (workspace.folder / "never").exists()
        return said.err

    return refuse


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(finished, refused, mistake):
    words, message = MISTAKES[mistake]
    before = finished.results()
    assert f"error: {message}" in refused(finished, *words)
    assert finished.results() == before


def test_too_little_memory(finished, copy_of):
    done = awt_gram(copy_of(finished), "--memory-gb", "1e-9", "--out", "never")
    assert done.returncode == 2
    assert "kernel.tile_memory_gb: 1e-09 is too little" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ([], "artifacts/data/dataset.json"),
        ([], "artifacts/initial/seed-0.npz"),
        (["--method", "awt"], "artifacts/masks/index.json"),
        (["--method", "awt", "--density", "0.1", "--trained"], "artifacts/models/awt-0.1-seed0.npz"),
    ],
)
def test_an_experiment_that_has_not_run(finished, copy_of, refused, words, missing):
    workspace = copy_of(finished)
    (workspace.folder / missing).unlink()
    assert f"error: {missing} is missing: run `dvc repro`" in refused(workspace, *words)
