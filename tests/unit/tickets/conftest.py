"""A search small enough to run whole: the dense side of a tiny problem, and settings of it by what differs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

from awt.artifacts import decode_npz
from awt.attacks.ball import ball
from awt.data.dataset import Dataset
from awt.kernels.dense_side import dense_side, kernel_views
from awt.models.network import Network, decode_weights
from awt.params import Search, Threat
from awt.runtime import Context
from awt.tickets.setting import Setting

SEARCH = {
    "methods": ["awt"],
    "densities": [0.3],
    "scope": "global",
    "epochs": 4,
    "batch": 6,
    "learning_rate": 0.03,
    "gamma": 0.03,
    "decay": 0.0001,
    "mask_every": 3,
    "estimator": "probe",
    "probes": 2,
    "projected": True,
    "attack": {"steps": 2, "step_size": None, "random_start": True},
}
THREAT = {"norm": "linf", "eps": 0.05, "eps_unit": "pixel", "clip": True}


@pytest.fixture(scope="session")
def search_inputs(
    dataset_npz: bytes, model: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, bytes]]:
    """The files that a search reads, by seed, ε and estimator."""
    found: dict[tuple[int, float, str], dict[str, bytes]] = {}

    def make(seed: int = 0, eps: float = THREAT["eps"], estimator: str = "probe") -> dict[str, bytes]:
        name = seed, eps, estimator
        if name not in found:
            context = Context(tmp_path_factory.mktemp("side"), 1e9, lambda lines, progress: False)
            params = {"model": model("mlp"), "seed": seed, "threat": THREAT | {"eps": eps}} | SEARCH
            files = dense_side(params, {"dataset": dataset_npz}, context)
            inputs = {"dataset": dataset_npz, "initial": files["initial.npz"], "dense": files["dense.npz"]}
            views = kernel_views(params | {"estimator": estimator}, inputs, context)
            found[name] = inputs | {"views": views["views.npz"]}
        return found[name]

    return make


@pytest.fixture(scope="session")
def search_params(model: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The parameters of a `find_mask` cell; keywords change its search."""

    def make(method: str = "awt", density: float = 0.3, seed: int = 0, eps: float = 0.05, **search: Any) -> Any:
        threat = THREAT | {"eps": eps}
        cell = {"method": method, "density": density, "seed": seed}
        return cell | {"model": model("mlp"), "threat": threat, "search": SEARCH | search}

    return make


@pytest.fixture
def make_setting(
    search_inputs: Callable[..., dict[str, bytes]],
    build_network: Callable[..., Network],
    dataset: Dataset,
    quiet: Context,
    tmp_path: Path,
) -> Callable[..., Setting]:
    """A Setting as `find_mask` makes it; keywords change its search."""

    def make(density: float = 0.3, seed: int = 0, eps: float = THREAT["eps"], **search: Any) -> Setting:
        inputs = search_inputs(seed, eps, (SEARCH | search)["estimator"])
        side = decode_npz(inputs["dense"], "dense.npz")
        return Setting(
            network=build_network("mlp"),
            initial=decode_weights(inputs["initial"], "initial.npz"),
            density=density,
            seed=seed,
            search=Search.of(SEARCH | search),
            threat=ball(Threat.of(THREAT | {"eps": eps}), dataset.std),
            x=jnp.asarray(dataset.train_x[side["indices"]]),
            y=jnp.asarray(dataset.train_y[side["indices"]]),
            dense_side=side,
            views=decode_npz(inputs["views"], "views.npz"),
            context=quiet,
        )

    return make
