"""`dvc repro` computes what changed, and nothing else."""

import json

import pytest

from awt.artifacts import read_json

STAGES = ("prepare", "kernel", "mask", "retrain", "evaluate", "report")


def ran(output: str) -> list[str]:
    """The stages that ran beside `code`, which always does."""
    assert "Running stage 'code'" in output
    return [name for name in STAGES if f"Running stage '{name}'" in output]


def test_a_second_repro_has_nothing_to_do(finished):
    assert ran(finished.dvc("repro")) == []
    assert ran(finished.dvc("repro", "--dry")) == []


def test_every_stage_leaves_a_record_of_its_run(finished):
    for stage in STAGES:
        record = finished.record(stage)
        assert record["stage"] == stage
        assert record["git"]["dirty"] is False
        assert record["versions"]["jax"] == "0.9.2"
    assert finished.record("mask")["cells"]["computed"] == 5  # awt and random at two densities, dense
    assert finished.record("retrain")["cells"]["reused"] == 0


def test_changes_rerun_only_what_they_affect_and_are_restored_when_undone(finished, copy_of):
    workspace = copy_of(finished)
    before = workspace.results()
    counts = {stage: len(workspace.record(stage)["cells"]["cells"]) for stage in ("mask", "retrain", "evaluate")}

    workspace.edit({"retrain.epochs": 3})
    assert ran(workspace.dvc("repro")) == ["retrain", "evaluate", "report"]

    workspace.edit({"retrain.epochs": 24, "tickets.densities": [0.1, 0.2, 0.3]})
    assert ran(workspace.dvc("repro")) == ["mask", "retrain", "evaluate", "report"]
    for stage, count in counts.items():
        cells = workspace.record(stage)["cells"]
        assert cells["reused"] == count, stage
        added = [cell["label"] for cell in cells["cells"] if not cell["reused"]]
        assert all("-0.2-seed0" in label for label in added)
        assert sum(label.startswith(stage) for label in added) == (4 if stage == "evaluate" else 2)  # two chunks each
    kernels = {label.partition(" tile")[0] for label in added if label.startswith("gram")}
    assert kernels == {f"gram {method}-0.2-seed0{when}" for method in ("awt", "random") for when in ("", " trained")}

    workspace.edit({"tickets.densities": [0.1, 0.3]})
    assert ran(workspace.dvc("repro")) == []
    assert workspace.results() == before


RIVALS = {
    "paper": {"from": "awt", "teacher_epochs": 0, "rewind_rounds": 0, "anneal_share": 0, "gamma": 1.0e-3},
    "ntt": {"from": "awt", "adversarial": False, "start": "searched"},
    "one_shot": {"method": "magnitude", "weights": "teacher", "teacher_epochs": 3},
    "random_like_awt": {"method": "random", "layer_counts_of": "awt"},
    "shuffled_awt": {"method": "shuffled", "mask_of": "awt"},
}


@pytest.mark.slow
def test_every_method_goes_through_the_pipeline_beside_those_that_did_before(finished, copy_of):
    workspace = copy_of(finished)
    rivals = ["concrete", "dns", "grasp", "imp", "iwi", "magnitude", "snip", "synflow", *RIVALS]
    workspace.edit(
        {
            "tickets.methods": ["awt", "random", "dense", *rivals],
            **{f"tickets.recipes.{name}": recipe for name, recipe in RIVALS.items()},
            "tickets.densities": [0.1],
            "tickets.shared.epochs": 4,
            "retrain.epochs": 2,
            "evaluate.attacks": {"pgd100": {"steps": 2}},
        }
    )
    workspace.dvc("repro")
    index = read_json(workspace.folder / "artifacts" / "masks" / "index.json")["masks"]
    masks = {mask["method"]: mask for mask in index}
    assert masks.keys() == {"awt", "random", "dense", *rivals}
    assert len({mask["kept"] for mask in masks.values() if mask["density"] == 0.1}) == 1
    assert masks["random_like_awt"]["layers"] == masks["shuffled_awt"]["layers"] == masks["awt"]["layers"]
    assert {name for name, mask in masks.items() if mask["start"] == "searched"} == {"dns", "iwi", "ntt"}
    sides = workspace.folder / "artifacts" / "dense_side"
    assert {path.name for path in sides.iterdir()} == {"awt", "concrete", "ntt", "one_shot", "paper"}
    assert not (sides / "paper" / "seed-0" / "teacher.npz").exists()
    table = (workspace.folder / "report" / "table.txt").read_text()
    assert "iwi (dense)" in table
    assert set(rivals) <= set(table.split())


def test_the_dense_network_alone_is_an_experiment_too(finished, copy_of):
    """No method looks at a dense side: the folder of them is empty."""
    workspace = copy_of(finished)
    workspace.edit({"tickets.methods": ["dense"]})
    assert ran(workspace.dvc("repro")) == ["kernel", "mask", "retrain", "evaluate", "report"]
    assert list((workspace.folder / "artifacts" / "dense_side").iterdir()) == []
    assert workspace.record("retrain")["cells"]["reused"] == 1
    assert "dense" in (workspace.folder / "report" / "table.txt").read_text()
    workspace.command("rm", "-rf", "artifacts/dense_side")
    assert ran(workspace.dvc("repro")) == []


@pytest.mark.parametrize(("added", "stale"), [("# a comment\n", set()), ("_ADDED = 0\n", {"evaluate"})])
def test_a_change_of_code_reruns_the_stages_that_use_it(finished, copy_of, added, stale):
    workspace = copy_of(finished)
    path = workspace.path / "src" / "awt" / "evaluation" / "scores.py"
    path.write_text(f"{path.read_text()}\n{added}")
    assert workspace.stage("code").returncode == 0
    status = json.loads(workspace.dvc("status", "--json", "dvc.yaml"))
    assert set(status) - {"code"} == stale


def test_metrics_plots_and_experiments_work(finished, copy_of):
    workspace = copy_of(finished)
    shown = json.loads(workspace.dvc("metrics", "show", "--json"))
    table = shown[""]["data"]["artifacts/metrics.json"]["data"]["table"]
    assert set(table["awt"]) == {"0.1", "0.3"}
    assert 0 <= table["awt"]["0.1"]["adversarial"] <= table["awt"]["0.1"]["natural"] <= 1
    assert "index.html" in workspace.dvc("plots", "show")
    workspace.dvc("exp", "run", "-S", "evaluate.attacks.pgd100.steps=4", "-n", "weaker")
    assert "weaker" in workspace.dvc("exp", "show", "--csv")
    workspace.dvc("metrics", "diff", "--all")


def test_results_come_back_in_another_clone_from_the_cache_alone(finished, copy_of):
    workspace = copy_of(finished)
    before = workspace.results()
    for name in ("artifacts", "report", ".awt"):
        workspace.command("rm", "-rf", name)
    assert ran(workspace.dvc("repro")) == []
    assert workspace.results() == before
