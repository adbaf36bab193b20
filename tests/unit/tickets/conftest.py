"""A search small enough to run whole: the dense side of a tiny problem, and settings of it by what differs."""

from collections.abc import Callable
from typing import Any

import pytest

from awt.kernels.dense_side import dense_side, initial_weights, kernel_views
from awt.runtime.context import Context
from awt.tickets.cells import READS
from awt.tickets.find import make_setting as make
from awt.tickets.setting import Setting
from awt.training.retrain import retrain

ATTACK = {"steps": 2, "step_size": None, "random_start": True}
SEARCH = {
    "scope": "global",
    "adversarial": True,
    "attack": ATTACK,
    "batch": 6,
    "epochs": 4,
    "learning_rate": 0.03,
    "teacher_epochs": 0,
    "teacher_rate": 0.01,
    "target": "squared",
    "gamma": 0.03,
    "distance": "frobenius",
    "estimator": "probe",
    "probes": 2,
    "projected": True,
    "decay": 0.0001,
    "initial_mask": "magnitude",
    "rewinds": 0,
    "drop": 0.5,
    "mask_every": 3,
    "anneal": 0.0,
    "start": "rewind",
    "weights": "initial",
    "score_batches": 3,
    "rounds": 2,
}
EPS = 0.05


def threat_of(eps: float) -> dict[str, Any]:
    return {"norm": "linf", "eps": eps, "eps_unit": "pixel", "clip": True}


@pytest.fixture(scope="session")
def search_inputs(
    dataset_npz: bytes, model: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, bytes]]:
    """The files that a search reads, by seed, ε, and what the kernel stage reads of the search."""
    found: dict[tuple[Any, ...], dict[str, bytes]] = {}

    def prepare(
        seed: int = 0, eps: float = EPS, estimator: str = "probe", teacher_epochs: int = 0, name: str = "mlp"
    ) -> dict[str, bytes]:
        which = seed, eps, estimator, teacher_epochs, name
        if which not in found:
            context = Context(tmp_path_factory.mktemp("side"), 1e9, lambda lines, progress: False)
            params = SEARCH | {"model": model(name), "seed": seed, "threat": threat_of(eps), "estimator": estimator}
            inputs: dict[str, bytes] = {"dataset": dataset_npz}
            inputs["initial"] = inputs["teacher"] = initial_weights(params, inputs, context)["initial.npz"]
            if teacher_epochs:
                training = {"epochs": teacher_epochs, "batch": 6, "learning_rate": 0.01, "attack": ATTACK}
                inputs["teacher"] = retrain(params | {"retrain": training}, inputs, context)["model.npz"]
            inputs["dense"] = dense_side(params, inputs, context)["dense.npz"]
            inputs["views"] = kernel_views(params | {"matched": True}, inputs, context)["views.npz"]
            found[which] = inputs
        return found[which]

    return prepare


@pytest.fixture(scope="session")
def search_params(model: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The parameters of a `find_mask` cell; keywords change its search."""

    def build(
        method: str = "awt", density: float = 0.3, seed: int = 0, eps: float = EPS, name: str = "mlp", **search: Any
    ) -> dict[str, Any]:
        values = {key: (SEARCH | search)[key] for key in READS[method]}
        cell = {"method": method, "density": density, "seed": seed, "model": model(name), "search": values}
        return cell | ({"threat": threat_of(eps)} if "adversarial" in values else {})

    return build


@pytest.fixture
def make_setting(
    search_inputs: Callable[..., dict[str, bytes]], search_params: Callable[..., dict[str, Any]], quiet: Context
) -> Callable[..., Setting]:
    """A Setting as `find_mask` makes it; keywords change its search."""

    def build(
        method: str = "awt",
        density: float = 0.3,
        seed: int = 0,
        eps: float = EPS,
        teacher_epochs: int = 0,
        name: str = "mlp",
        **search: Any,
    ) -> Setting:
        inputs = search_inputs(seed, eps, (SEARCH | search)["estimator"], teacher_epochs, name)
        return make(search_params(method, density, seed, eps, name, **search), inputs, quiet)

    return build
