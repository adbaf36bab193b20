"""`awt attack` in an experiment that has run: any trained network, any suite, any threat."""

import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from awt.artifacts import encode_npz, read_json, read_npz, sha256_file
from awt.cells.retrain import retrain
from awt.commands import main as cli
from awt.errors import Interrupted
from awt.runtime import context as runtime_context
from awt.runtime.cell import from_json
from awt.runtime.context import Context

TICKET = ("awt", "--density", "0.1")
FILE = "artifacts/models/awt-0.1-seed0.npz"


def awt_attack(workspace, *words):
    return workspace.command(
        sys.executable, "-c", "from awt.commands.main import main; main()", "attack", *map(str, words)
    )


def found(workspace, *words):
    done = awt_attack(workspace, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def workspace(finished, tmp_path_factory):
    """A copy of the finished repository: attacks add cells to its store."""
    return finished.copy(tmp_path_factory.mktemp("attacked") / "copy")


def test_by_default_it_is_the_evaluate_stage_s(workspace):
    done = awt_attack(workspace, *TICKET)
    assert done.returncode == 0, done.stderr
    results = pd.read_csv(workspace.folder / "artifacts" / "plots" / "results.csv")
    [row] = results[(results.method == "awt") & (results.density == 0.1)].to_dict("records")
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "awt, density 0.1, seed 0",
        f"pgd100 on {row['points']} test points, linf, eps 0.1 of pixels in [0, 1], images stay in [0, 1]",
        f"natural accuracy {row['natural']:.2%}",
    ]
    assert lines[-2] == (
        f"robust accuracy {row['adversarial']:.2%} "
        f"(95 % interval {row['adversarial_low']:.2%} to {row['adversarial_high']:.2%})"
    )
    assert lines[-1].startswith("0 cells computed, ")


def test_another_threat_and_suite_once(workspace):
    """The same network, by all its names, is attacked once; the figures add up."""
    asked = ("--suite", "quick", "--eps", "0.8", "--norm", "l2", "--points", "60")
    cell = workspace.keys("retrain awt-0.1-seed0")
    first, *others = (
        found(workspace, *words, *asked) for words in (TICKET, [FILE], [cell[0][:20]], ["retrain awt-0.1-seed0"])
    )
    assert first["cells"] == {"computed": 2, "reused": 0}
    assert first["threat"] == {"norm": "l2", "eps": 0.8, "eps_unit": "pixel", "clip": True}
    assert first["network"]["sha256"] == sha256_file(workspace.folder / FILE)
    standing = round(first["natural"] * 60)
    for row in first["attacks"]:
        standing -= row["broken"]
        assert row["left"] == pytest.approx(standing / 60)
    assert [row["name"] for row in first["attacks"]] == ["pgd20", "apgd-dlr"]
    assert 0 < first["attacks"][0]["median"] <= first["attacks"][0]["largest"] <= 0.8 + 1e-5
    assert first["robust"]["share"] == first["attacks"][-1]["left"]
    assert first["robust"]["low"] < first["robust"]["share"] < first["robust"]["high"]
    for other in others:
        assert other["cells"] == {"computed": 0, "reused": 2}
        assert {name: other[name] for name in ("attacks", "robust", "natural")} == {
            name: first[name] for name in ("attacks", "robust", "natural")
        }


OWN = """
from dataclasses import dataclass
from awt.attacks.pgd import Pgd

@dataclass(frozen=True)
class Short(Pgd):
    steps: int = 3

def shorter():
    return Pgd(steps=2)
"""


@pytest.mark.parametrize("name", ["own:Short", "own:shorter"])
def test_an_attack_of_one_s_own(workspace, name):
    (workspace.folder / "own.py").write_text(OWN)
    first, second = (found(workspace, *TICKET, "--suite", name, "--points", "40") for _ in range(2))
    assert [row["name"] for row in first["attacks"]] == [name]
    assert first["attacks"][0]["broken"] > 0
    assert (first["cells"], second["cells"]) == ({"computed": 1, "reused": 0}, {"computed": 0, "reused": 1})
    assert second["attacks"] == first["attacks"]


def test_a_network_that_hides_its_gradients_is_not_believed(workspace):
    """Outputs so large that the loss is flat in single precision."""
    weights = read_npz(workspace.folder / FILE)
    huge = {name: np.float32(1e4) * array if name.startswith("dense2") else array for name, array in weights.items()}
    (workspace.folder / "huge.npz").write_bytes(encode_npz(huge))
    workspace.edit({"evaluate.sanity_points": 40})
    try:
        done = awt_attack(workspace, "huge.npz", "--points", "40")
    finally:
        workspace.edit({"evaluate.sanity_points": 0})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("huge.npz\n")
    assert "\nnot to be believed: the cross-entropy's gradient vanishes" in done.stdout


@pytest.fixture
def checkpoints(workspace, monkeypatch):
    """The folder of the checkpoints of a retrain cell that was stopped when it had but to return its model."""
    [key] = workspace.keys("retrain awt-0.1-seed0")
    described = workspace.work / key / "cell.json"
    cell = from_json(read_json(described))
    folder = workspace.work / ("f" * 64) / "checkpoints"
    monkeypatch.setattr(runtime_context, "REPORT_SECONDS", 0.0)
    at_the_end = Context(folder, 1e9, lambda lines, progress: bool(progress) and progress["done"] == progress["total"])
    with pytest.raises(Interrupted):
        retrain(cell.params, {name: source.path.read_bytes() for name, source in cell.inputs.items()}, at_the_end)
    shutil.copy(described, folder.parent)
    yield folder
    shutil.rmtree(folder.parent)


def test_checkpoints(workspace, checkpoints, refused):
    """Of a ticket of which only a part was in training, the whole network is attacked."""
    [step] = checkpoints.iterdir()
    for what in (checkpoints, step):
        whole = found(workspace, what)
        assert whole["network"]["sha256"] == sha256_file(workspace.folder / FILE)
        assert whole["network"]["title"] == f"checkpoint {step.name} of retrain awt-0.1-seed0: awt, density 0.1, seed 0"
        assert whole["cells"]["computed"] == 0
    assert "error: WHAT: retrain awt-0.1-seed0 (ffffffffffff) is not finished" in refused(workspace, "ffff")
    (step / "state" / "manifest.ocdbt").write_bytes(b"not a manifest")
    assert "not a readable checkpoint" in refused(workspace, checkpoints)
    (checkpoints.parent / "cell.json").unlink()
    assert f"error: {checkpoints}: {checkpoints.parent / 'cell.json'} is missing" in refused(workspace, checkpoints)


@pytest.fixture
def refused(monkeypatch, capsys):
    """What `awt attack` says in an experiment, in this process, when it refuses."""

    def refuse(workspace, *words):
        monkeypatch.chdir(workspace.folder)
        monkeypatch.setenv("AWT_EXECUTOR", "serial")
        monkeypatch.setattr(sys, "argv", ["awt", "attack", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2
        said = capsys.readouterr()
        assert said.out == ""
        return said.err

    return refuse


MISTAKES = {
    "unknown method": (["awtt"], "WHAT: the experiment has no 'awtt', only awt, dense, random; did you mean `awt`?"),
    "no density": (["awt"], "--density: is needed; the tickets of awt have 0.1, 0.3"),
    "unknown suite": ([*TICKET, "--suite", "autoatack"], "--suite: 'autoatack' is neither a suite nor an attack; did"),
    "no eps": ([*TICKET, "--eps", "0"], "--eps: 0 is no size of a perturbation"),
    "eps below 0": ([*TICKET, "--eps=-0.1"], "--eps: -0.1 is no size of a perturbation"),
    "too many points": ([*TICKET, "--points", "360"], "--points: 360 of the 359 test points"),
    "no points": ([*TICKET, "--points", "0"], "--points: 0 of the 359 test points"),
    "another cell": (["mask awt-0.1-seed0"], "WHAT: 'mask awt-0.1-seed0' is neither"),
    "no file": (["lost.npz"], "lost.npz: no such file"),
    "no network": (["params.yaml"], "params.yaml: not a readable .npz"),
    "a corrupt file": (["corrupt.npz"], "corrupt.npz: not a readable .npz"),
    "another network": (
        ["other.npz"],
        "cell evaluate other-1-seed0 pgd100 points 0-200: model.npz: weights of another",
    ),
    "another norm's attack": (
        [*TICKET, "--suite", "deepfool", "--norm", "l1", "--points", "9"],
        "cell evaluate awt-0.1-seed0 deepfool points 0-9: the attack deepfool is not defined for l1",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(workspace, refused, mistake):
    data = (workspace.folder / FILE).read_bytes()
    (workspace.folder / "corrupt.npz").write_bytes(data[: len(data) // 2])
    (workspace.folder / "other.npz").write_bytes(
        encode_npz({"dense1/kernel": np.ones((64, 10), np.float32), "dense1/bias": np.ones(10, np.float32)})
    )
    words, message = MISTAKES[mistake]
    assert f"error: {message}" in refused(workspace, *words)
