"""A made-up experiment for the report's tests: plausible curves in closed form, nothing trained."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from awt.workflows.experiment import experiment
from awt.workflows.tickets.params import Params
from awt.workflows.tickets.reporting import Findings

ROOT = Path(__file__).parents[5]
METHODS = ("dense", "awt", "random", "magnitude")
DENSITIES = (0.02, 0.05, 0.2)
LAYERS = {"dense_0": 8192, "dense_1": 8192, "dense_2": 640}
SKILL = {"dense": 0.0, "awt": 0.05, "magnitude": 0.08, "random": 0.22}


def make(
    methods: tuple[str, ...] = METHODS,
    densities: tuple[float, ...] = DENSITIES,
    seeds: tuple[int, ...] = (0, 1),
    validated: bool = True,
    name: str = "digits",
) -> Findings:
    tickets = [(m, d, s) for m in methods for d in ((1.0,) if m == "dense" else densities) for s in seeds]
    searched = [ticket for ticket in tickets if ticket[0] == "awt"]
    return Findings(
        params=_params(),
        dataset={
            "name": name,
            "shape": [8, 8, 1],
            "classes": 10,
            "counts": {"test": 360, "train": 1293, "validation": 144},
            "mean": [0.3053],
            "std": [0.376],
            "sources": {"load_digits": "a" * 64},
        },
        results=pd.DataFrame([_result(*ticket) for ticket in tickets]),
        sanity=pd.DataFrame([row for ticket in tickets for row in _sanity(*ticket)]),
        dynamics=pd.DataFrame([row for ticket in searched for row in _dynamics(*ticket)]),
        mixture=pd.DataFrame(columns=["method", "density", "seed"]),
        search=pd.DataFrame([row for ticket in searched for row in _search(*ticket)], columns=SEARCH),
        retrain=pd.DataFrame([row for ticket in tickets for row in _retrain(*ticket, validated)]),
        kernels=pd.DataFrame([row for ticket in tickets for row in _kernels(*ticket, "dense" in methods)]),
        spectra=pd.DataFrame([row for ticket in tickets for row in _spectra(*ticket)]),
        heatmaps=_heatmaps([ticket for ticket in tickets if ticket[2] == seeds[0]]),
        masks=[_mask(*ticket) for ticket in tickets],
        versions={"awt": "0.1.0", "jax": "0.9.2", "numpy": "2.3.1"},
        hashes={"artifacts/dataset.npz": "b" * 64, "artifacts/masks.json": "c" * 64},
        records={stage: f"../artifacts/records/{stage}.json" for stage in ("prepare", "kernel", "mask")},
    )


SEARCH = ["method", "density", "seed", "epoch"]
SEARCH += [
    "accuracy",
    "target_distance",
    "kernel_distance",
    "kernel_distance_error",
    "changed",
    "kept",
    "kept dense1",
    "kept dense2",
]


def _result(method: str, density: float, seed: int) -> dict[str, Any]:
    lost = SKILL[method] * math.log10(1 / density) + 0.004 * seed
    return {
        "method": method,
        "density": density,
        "seed": seed,
        "trains_all": False,
        "natural": 0.975 - 0.5 * lost,
        "adversarial": 0.885 - lost,
        "adversarial_low": 0.86 - lost,
        "adversarial_high": 0.91 - lost,
        "autoattack": 0.87 - 1.1 * lost,
        "points": 360,
        "flags": "",
    }


def _sanity(method: str, density: float, seed: int) -> list[dict[str, Any]]:
    about = {"method": method, "density": density, "seed": seed}
    lost = SKILL[method] * math.log10(1 / density)
    eps = [
        about | {"against": "eps", "x": 0.1 * x, "adversarial": max(0.9 - lost - 0.2 * x, 0.0)} for x in (0.5, 1, 2, 8)
    ]
    return [*eps, *(about | {"against": "steps", "x": x, "adversarial": 0.8 - lost} for x in (1, 10, 100))]


def _dynamics(method: str, density: float, seed: int) -> list[dict[str, Any]]:
    about = {"method": method, "density": density, "seed": seed, "natural_dense": 0.9, "natural_sparse": 0.8}
    gaps = ({"epoch": e, "gap": 0.1 * e + 0.1, "gap_adversarial": 0.2 * e + 0.1, "bound": 50.0} for e in range(4))
    grafts = {f"graft_{first}_first_{j}": 0.2 + 0.1 * j for first in ("dense", "sparse") for j in (1, 2)}
    return [about | gap | grafts for gap in gaps]


def _search(method: str, density: float, seed: int) -> list[dict[str, Any]]:
    return [
        {
            "method": method,
            "density": density,
            "seed": seed,
            "epoch": epoch,
            "accuracy": 1 - 0.5 * math.exp(-0.3 * epoch),
            "target_distance": (0.02 + math.exp(-0.4 * epoch)) / density**0.5 * (1 + 0.1 * seed),
            "kernel_distance": (3e3 + 9e4 * math.exp(-0.3 * epoch)) / density**0.7,
            "kernel_distance_error": 1e3 / density**0.7,
            "changed": 0.3 * density**0.5 * math.exp(-0.25 * epoch),
            "kept": density,
            "kept dense1": density * (1 - 0.5 * epoch / 40),
            "kept dense2": min(1.0, density * (1 + epoch / 4)),
        }
        for epoch in range(1, 21)
    ]


def _retrain(method: str, density: float, seed: int, validated: bool) -> list[dict[str, Any]]:
    final = _result(method, density, seed)
    rows = []
    for epoch in range(1, 41):
        learnt = 1 - 0.9 * math.exp(-0.15 * epoch)
        rows.append(
            {
                "method": method,
                "density": density,
                "seed": seed,
                "epoch": epoch,
                "loss": 2.3 - 2 * learnt,
                "train_adversarial": 1.03 * final["adversarial"] * learnt,
                "validation_natural": final["natural"] * learnt if validated else math.nan,
                "validation_adversarial": (
                    final["adversarial"] * learnt + 0.01 * math.sin(3 * epoch + seed) if validated else math.nan
                ),
            }
        )
    return rows


def _kernels(method: str, density: float, seed: int, with_dense: bool) -> list[dict[str, Any]]:
    ticket = {"method": method, "density": density, "seed": seed}
    moved = 0.3 + SKILL[method] + 0.1 * seed
    smallest = 1e-3 * density * (1 + seed)
    common = {"concentration": 0.8, "condition": 4e3 / smallest, "lambda_min": smallest, "lambda_max": 4e3}
    far = SKILL[method] if with_dense else math.nan
    return [
        ticket
        | common
        | {"when": when, "distance_to_dense": far, "alignment": 0.2 + turn / 4, "trace": 9e3}
        | {"distance": 1 - math.cos(turn), "radius": 1 + 2 * turn, "angle": turn}
        for when, turn in (("initial", 0.0), ("trained", moved))
    ]


def _spectra(method: str, density: float, seed: int) -> list[dict[str, Any]]:
    values = (1 + 0.2 * seed) * density * 4e3 / np.arange(1, 129) ** 1.4
    return [
        {"method": method, "density": density, "seed": seed, "when": when, "index": rank, "eigenvalue": grown * value}
        for when, grown in (("initial", 1.0), ("trained", 2.5))
        for rank, value in enumerate(values.tolist(), start=1)
    ]


def _heatmaps(tickets: list[tuple[str, float, int]]) -> dict[str, np.ndarray]:
    labels = np.repeat(np.arange(4), 3)
    alike = np.equal.outer(labels, labels)
    return {"labels": labels} | {
        f"{method}-{density:.12g}-seed{seed}-{when}": (density * (1 + contrast * alike)).astype(np.float32)
        for method, density, seed in tickets
        for when, contrast in (("initial", 0.2), ("trained", 1 + SKILL[method]))
    }


def _mask(method: str, density: float, seed: int) -> dict[str, Any]:
    tilt = {"dense_0": 0.7, "dense_1": 1.15, "dense_2": 3.0} if method != "random" else dict.fromkeys(LAYERS, 1.0)
    layers = {
        name: {
            "kept": min(size, max(1, round(density * size * tilt[name]))) if density < 1 else size,
            "size": size,
        }
        for name, size in LAYERS.items()
    }
    kept = sum(layer["kept"] for layer in layers.values())
    return {
        "method": method,
        "density": density,
        "seed": seed,
        "file": f"masks/{method}-{density}-{seed}.npz",
        "kept": kept,
        "total": sum(LAYERS.values()),
        "layers": layers,
    }


def _params() -> Params:
    """The default experiment's, at the densities of these tests."""
    default: Params = experiment(ROOT).params
    return replace(default, tickets=replace(default.tickets, densities=DENSITIES))
