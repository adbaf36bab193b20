"""An experiment in pipelines/ is a params.yaml and a symlink; the one there runs on real MNIST."""

import os
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from awt.artifacts import read_csv, read_npz
from awt.data.dataset import decode

PROJECT = Path(__file__).parents[2]


def test_every_experiment_is_the_same_pipeline():
    found = [path.parent for path in PROJECT.glob("pipelines/**/params.yaml")]
    assert found
    for folder in found:
        assert (folder / "dvc.yaml").is_symlink()
        assert (folder / "dvc.yaml").resolve() == PROJECT / "dvc.yaml"
        assert (folder / "README.md").exists()


@pytest.mark.parametrize("by_class", [True, False])
def test_test_points_sorted_by_class_are_shuffled_and_others_left_as_they_are(fresh, by_class):
    labels = np.arange(60) // 6 if by_class else np.arange(60) % 10
    x = np.arange(60 * 4).reshape(60, 2, 2) / 240.0
    workspace = fresh()
    np.savez(workspace.path / "mine.npz", x=x, y=labels, x_test=x, y_test=labels)
    workspace.edit({"data.name": "npz", "data.path": "mine.npz", "data.train_limit": None})
    done = workspace.stage("prepare")
    assert done.returncode == 0, done.stderr
    made = decode((workspace.path / "artifacts" / "data" / "dataset.npz").read_bytes(), "dataset.npz")
    order = read_npz(workspace.path / "artifacts" / "data" / "split.npz")["test"]
    assert sorted(order) == list(range(60))
    assert np.array_equal(made.test_y, labels[order])
    assert np.allclose(made.test_x[..., 0], x[order])
    assert len(set(made.test_y[:12])) > 5
    assert np.array_equal(order, np.arange(60)) is not by_class


def test_a_quick_run_that_takes_too_long_fails_and_is_ended_whole(fresh):
    workspace = fresh()
    process = workspace.start(sys.executable, "pipelines/quick.py", "gaussian_toy", "--limit", "12")
    output = workspace.output(process)
    assert process.returncode == 1, output
    assert "Running stage" in output
    assert "gaussian_toy: FAILED" in output
    running = [(other.info["cwd"] or "/", other.info["cmdline"]) for other in psutil.process_iter(["cwd", "cmdline"])]
    assert not [words for folder, words in running if Path(folder).is_relative_to(workspace.path)]


@pytest.mark.slow
def test_mnist_from_a_local_folder(fresh):
    data = os.environ.get("AWT_DATA_DIR", "")
    if not (Path(data) / "mnist").is_dir():
        pytest.skip("AWT_DATA_DIR names no folder with mnist/ in it")
    workspace = fresh()
    workspace.experiment = "pipelines/mnist_mlp/quick"
    workspace.edit(
        {
            "data.root": data,
            "data.train_limit": 512,
            "model.widths": [16],
            "tickets.methods": ["awt", "random"],
            "tickets.densities": [0.1],
            "tickets.shared.epochs": 1,
            "tickets.recipes.awt.rewind_rounds": 1,
            "tickets.shared.attack.steps": 1,
            "kernel.reference_points": 16,
            "retrain.epochs": 2,
            "retrain.attack.steps": 1,
            "evaluate.points": 700,
            "evaluate.chunk_points": 500,
            "evaluate.attacks": {"pgd100": {"steps": 2}},
        }
    )
    workspace.dvc("repro", "dvc.yaml")
    assert workspace.record("prepare")["stage"] == "prepare"
    assert set(read_csv(workspace.folder / "artifacts" / "plots" / "results.csv")["points"]) == {700}
    page = (workspace.folder / "report" / "index.html").read_text()
    assert "mnist" in page.lower()
    assert not (workspace.path / "artifacts").exists()
    status = workspace.dvc("status", "dvc.yaml")
    assert "up to date" in status
