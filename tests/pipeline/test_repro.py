"""`dvc repro` computes what changed, and nothing else."""

import json

import pytest

from awt.artifacts import read_json

STAGES = ("prepare", "kernel", "mask", "retrain", "evaluate", "report")


def ran(output: str) -> list[str]:
    return [name for name in STAGES if f"Running stage '{name}'" in output]


def test_a_second_repro_has_nothing_to_do(finished):
    assert ran(finished.dvc("repro")) == []
    assert "Data and pipelines are up to date" in finished.dvc("repro")


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
    computed = {stage: workspace.record(stage)["cells"]["computed"] for stage in ("mask", "retrain", "evaluate")}

    workspace.edit({"retrain.epochs": 3})
    assert ran(workspace.dvc("repro")) == ["retrain", "evaluate", "report"]

    workspace.edit({"retrain.epochs": 24, "search.densities": [0.1, 0.2, 0.3]})
    assert ran(workspace.dvc("repro")) == ["mask", "retrain", "evaluate", "report"]
    for stage, count in computed.items():
        cells = workspace.record(stage)["cells"]
        assert cells["reused"] == count, stage
        added = [cell["label"] for cell in cells["cells"] if not cell["reused"]]
        assert all(" 0.2 seed 0" in label for label in added)
        assert sum(label.startswith(stage) for label in added) == (4 if stage == "evaluate" else 2)  # two chunks each
    kernels = {label.partition(" tile")[0] for label in added if label.startswith("gram")}
    assert kernels == {f"gram {method} 0.2 seed 0{when}" for method in ("awt", "random") for when in ("", " trained")}

    workspace.edit({"search.densities": [0.1, 0.3]})
    assert ran(workspace.dvc("repro")) == []
    assert workspace.results() == before


RIVALS = {
    "paper": {"method": "awt", "teacher_epochs": 0, "rewinds": 0, "anneal": 0, "gamma": 1.0e-3},
    "ntt": {"method": "awt", "adversarial": False, "start": "searched"},
    "one_shot": {"method": "magnitude", "weights": "teacher", "teacher_epochs": 3},
    "random_like_awt": {"method": "random", "like": "awt"},
    "shuffled_awt": {"method": "shuffled", "like": "awt"},
}


@pytest.mark.slow
def test_every_method_goes_through_the_pipeline_beside_those_that_did_before(finished, copy_of):
    workspace = copy_of(finished)
    rivals = ["concrete", "dns", "grasp", "imp", "iwi", "magnitude", "snip", "synflow", *RIVALS]
    workspace.edit(
        {
            "search.methods": ["awt", "random", "dense", *rivals],
            "search.variants": RIVALS,
            "search.densities": [0.1],
            "search.epochs": 4,
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
    workspace.edit({"search.methods": ["dense"]})
    assert ran(workspace.dvc("repro")) == ["kernel", "mask", "retrain", "evaluate", "report"]
    assert list((workspace.folder / "artifacts" / "dense_side").iterdir()) == []
    assert workspace.record("retrain")["cells"]["reused"] == 1
    assert "dense" in (workspace.folder / "report" / "table.txt").read_text()
    workspace.command("rm", "-rf", "artifacts/dense_side")
    assert ran(workspace.dvc("repro")) == []


def test_a_change_of_code_reruns_the_stages_that_use_it(finished, copy_of):
    workspace = copy_of(finished)
    path = workspace.path / "src" / "awt" / "evaluation" / "scores.py"
    path.write_text(path.read_text() + "\n# changed\n")
    status = json.loads(workspace.dvc("status", "--json", "dvc.yaml"))
    assert set(status) == {"evaluate"}


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
