"""The `awt` command in an experiment that has run."""

import json
import sys

from ruamel.yaml import YAML

from awt.artifacts import read_json


def awt(workspace, *words):
    return workspace.command(sys.executable, "-c", "from awt.commands.main import main; main()", *words)


def test_cells_and_logs(finished):
    listed = awt(finished, "cells").stdout.splitlines()
    records = [finished.record(stage)["cells"]["cells"] for stage in ("kernel", "mask", "retrain", "evaluate")]
    assert len(listed) == len({cell["key"] for cells in records for cell in cells})
    assert all(" done " in line for line in listed)
    key = listed[0].split()[0]
    shown = awt(finished, "logs", key)
    assert shown.returncode == 0
    assert "done after" in shown.stdout
    assert "epoch=24" in awt(finished, "logs", "mask awt-0.1-seed0").stdout


def test_rerun_gives_the_same_bytes(finished, copy_of):
    workspace = copy_of(finished)
    done = awt(workspace, "rerun", "retrain awt-0.1-seed0", "--serial")
    assert done.returncode == 0, done.stderr
    assert "same bytes as the store's result" in done.stdout


def test_mistakes(finished):
    for words, message in [
        (["logs", "absent"], "no cell 'absent'"),
        (["logs", ""], "is not one cell but"),
    ]:
        done = awt(finished, *words)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_check(finished, copy_of):
    assert awt(finished, "check").returncode == 0
    workspace = copy_of(finished)
    shown = YAML(typ="safe", pure=True).load(awt(workspace, "check", "--show").stdout)
    effective = read_json(workspace.folder / "artifacts" / "params.json")
    assert {name: shown[name] for name in effective} == effective
    workspace.edit({"threat.eps": -1})
    done = awt(workspace, "check")
    assert done.returncode == 2
    assert "threat.eps" in done.stderr


def test_mask(finished, tmp_path):
    folder = finished.folder / "artifacts" / "masks"
    counts = {one["file"]: one for one in read_json(folder / "index.json")["masks"]}["awt-0.1-seed0.npz"]
    done = awt(finished, "mask", "awt", "--density", "0.1", "--picture", str(tmp_path / "mask.png"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("awt, density 0.1, seed 0\n")
    assert (tmp_path / "mask.png").read_bytes().startswith(b"\x89PNG")
    shown = json.loads(awt(finished, "mask", "awt", "--density", "0.1", "--json").stdout)
    assert {row["name"]: {"kept": row["kept"], "size": row["size"]} for row in shown["layers"]} == counts["layers"]
    assert (shown["whole"]["kept"], shown["whole"]["size"]) == (counts["kept"], counts["total"])
    assert shown["inputs"]["count"] == 64
    file = str(folder / "awt-0.1-seed0.npz")
    same = json.loads(awt(finished, "mask", file, "--with", "awt", "--density", "0.1", "--json").stdout)
    assert same["whole"]["jaccard"] == 1
    done = awt(finished, "mask", "dense", "--with", "awt")
    assert done.returncode == 2
    assert "error: --with-density: is needed; the tickets of awt have 0.1, 0.3" in done.stderr


def test_gc_drops_only_what_no_record_names(finished, copy_of):
    workspace = copy_of(finished)
    workspace.edit({"evaluate.attacks": {"pgd100": {"steps": 4}}})
    assert workspace.stage("evaluate").returncode == 0
    assert "0 cells could be dropped" in awt(workspace, "store", "gc", "--dry-run").stdout  # they are young
    assert "10 cells could be dropped" in awt(workspace, "store", "gc", "--days", "0", "--dry-run").stdout
    assert "dropped 10 cells" in awt(workspace, "store", "gc", "--days", "0").stdout
    assert workspace.stage("evaluate").returncode == 0
    assert workspace.record("evaluate")["cells"]["computed"] == 0
    assert json.loads((workspace.folder / "artifacts" / "metrics.json").read_text())
