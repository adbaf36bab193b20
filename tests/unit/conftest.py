"""What the numerical tests share: a tiny separable data set, tiny networks of it, searches small enough to run whole,
and watches that say nothing or stop again and again."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import settings

from awt import loop
from awt.artifacts import encode_npz
from awt.cells.dense import dense_side, initial_weights, views
from awt.cells.retrain import retrain
from awt.data.dataset import Dataset, Raw, arrays, decode
from awt.data.split import Split
from awt.errors import Interrupted
from awt.loop import UNWATCHED
from awt.models.architecture import Model, build
from awt.models.network import Masks, Network, Weights
from awt.options import as_json, from_json
from awt.runtime import context as runtime_context
from awt.runtime.context import Context
from awt.tickets.method import method
from awt.tickets.registry import METHODS
from awt.training.options import Training

# the same examples everywhere: a run that fails can be had again
settings.register_profile("same examples", derandomize=True, deadline=None)
settings.load_profile("same examples")

MODELS = {
    "mlp": {"name": "awt.models.mlp:MLP", "widths": [6, 5], "init": "glorot"},
    "cnn": {"name": "awt.models.cnn:CNN", "widths": [3, 4, 6], "init": "glorot"},
}
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
    "rewind_rounds": 0,
    "drop_share": 0.5,
    "mask_every": 3,
    "anneal_share": 0.0,
    "start": "rewind",
    "weights": "initial",
    "score_batches": 3,
    "rounds": 2,
    "mask_of": "another",
}
EPS = 0.05


def threat_of(eps: float) -> dict[str, Any]:
    return {"norm": "linf", "eps": eps, "eps_unit": "pixel", "clip": True}


@pytest.fixture(scope="session")
def dataset_npz() -> bytes:
    """Three classes of 4 × 4 pictures, each bright in a band of its own: 48 to train on, 12 to validate, 15 to test."""
    rng = np.random.default_rng(0)
    y = np.arange(75, dtype=np.int32) % 3
    x = rng.uniform(0, 90, (75, 4, 4, 1))
    for band in range(3):
        x[y == band, band] += 150
    raw = Raw(x.astype(np.uint8), y, None, None, 255.0, 3, {})
    return encode_npz(arrays(raw, Split(np.arange(48), np.arange(48, 60), np.arange(60, 75))))


@pytest.fixture(scope="session")
def dataset(dataset_npz: bytes) -> Dataset:
    return decode(dataset_npz, "dataset.npz")


@pytest.fixture(scope="session")
def model() -> Callable[..., dict[str, Any]]:
    """The parameters of a tiny network, as a cell has them."""
    return lambda name, init="glorot": MODELS[name] | {"init": init}


@pytest.fixture(scope="session")
def build_network(dataset: Dataset, model: Callable[..., dict[str, Any]]) -> Callable[..., Network]:
    return lambda name, init="glorot": build(from_json(Model, model(name, init)), dataset)


@pytest.fixture(params=["mlp", "cnn"])
def network(request: pytest.FixtureRequest, build_network: Callable[..., Network]) -> Network:
    return build_network(request.param)


@pytest.fixture(scope="session")
def random_weights() -> Callable[..., Weights]:
    """Weights of the size of initial ones, with biases that are not 0, as after some training."""

    def make(network: Network, seed: int = 0) -> Weights:
        rng = np.random.default_rng(seed)

        def layer(shape: tuple[int, ...], init: str) -> dict[str, jax.Array]:
            scale = 1.0 if init == "ntk" else (2 / np.prod(shape[:-1])) ** 0.5
            parts = {"kernel": scale * rng.normal(size=shape), "bias": 0.3 * rng.normal(size=shape[-1])}
            return {name: jnp.asarray(part, jnp.float32) for name, part in parts.items()}

        return {one.name: layer(one.kernel_shape, one.init) for one in network.weighted}

    return make


@pytest.fixture(scope="session")
def random_mask() -> Callable[..., Masks]:
    def make(network: Network, density: float = 0.5, seed: int = 0) -> Masks:
        rng = np.random.default_rng(seed)
        return {name: jnp.asarray(rng.random(shape) < density) for name, shape in network.kernel_shapes.items()}

    return make


@pytest.fixture(scope="session")
def uniform_points() -> Callable[..., jax.Array]:
    def make(number: int, seed: int = 0, shape: tuple[int, ...] = (4, 4, 1)) -> jax.Array:
        return jnp.asarray(np.random.default_rng([seed, 77]).random((number, *shape)), jnp.float32)

    return make


@pytest.fixture(scope="session")
def training_section() -> dict[str, Any]:
    """A training run small enough to be done whole in every test, as a cell has its options."""
    return as_json(Training(epochs=3, batch=5, learning_rate=0.02)) | {"attack": ATTACK}


@pytest.fixture(scope="session")
def search_inputs(dataset_npz: bytes, model: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, bytes]]:
    """The files that a search reads, by seed, ε, and what else decides the dense network's side."""
    made: dict[tuple[Any, ...], dict[str, bytes]] = {}

    def prepare(
        seed: int = 0, eps: float = EPS, estimator: str = "probe", teacher_epochs: int = 0, name: str = "mlp"
    ) -> dict[str, bytes]:
        which = seed, eps, estimator, teacher_epochs, name
        if which not in made:
            params = SEARCH | {"model": model(name), "seed": seed, "threat": threat_of(eps), "estimator": estimator}
            inputs: dict[str, bytes] = {"dataset": dataset_npz}
            inputs["initial"] = inputs["teacher"] = initial_weights(params, inputs, UNWATCHED)["initial.npz"]
            if teacher_epochs:
                training = as_json(Training(epochs=teacher_epochs, batch=6, learning_rate=0.01)) | {"attack": ATTACK}
                inputs["teacher"] = retrain(params | {"training": training}, inputs, UNWATCHED)["model.npz"]
            inputs["dense"] = dense_side(params, inputs, UNWATCHED)["dense.npz"]
            inputs["views"] = views(params | {"matched": True}, inputs, UNWATCHED)["views.npz"]
            made[which] = inputs
        return made[which]

    return prepare


@pytest.fixture(scope="session")
def search_params(model: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The parameters of a `find_mask` cell; keywords change the method's options."""

    def build(
        name: str = "awt", density: float = 0.3, seed: int = 0, eps: float = EPS, network: str = "mlp", **changes: Any
    ) -> dict[str, Any]:
        has = [field.name for field in fields(method(METHODS[name]).options)]
        values = {key: (SEARCH | changes)[key] for key in has if key in SEARCH | changes}
        cell = {"method": METHODS[name], "density": density, "seed": seed, "model": model(network), "options": values}
        return cell | ({"threat": threat_of(eps)} if "adversarial" in values else {})

    return build


@pytest.fixture
def quiet(tmp_path: Path) -> Context:
    """A context without checkpoints that nobody asks to stop."""
    return Context(tmp_path / "none", 1e9, lambda lines, progress: False)


@pytest.fixture
def stopped_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, int]]:
    """Runs work whose context asks for a stop at its n-th report, anew until it ends; returns also the stops."""
    monkeypatch.setattr(runtime_context, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(loop, "PIECE_SECONDS", 0.0)

    def run(work: Callable[[Context], Any], reports: int) -> tuple[Any, int]:
        stops = 0
        while True:
            seen: list[Any] = []

            def report(lines: list[str], progress: dict[str, Any] | None, seen: list[Any] = seen) -> bool:
                seen.append(progress)
                return len(seen) >= reports

            context = Context(tmp_path / f"stopped-{reports}", 1e9, report)
            try:
                return work(context), stops
            except Interrupted:
                stops += 1
            finally:
                context.close()

    return run
