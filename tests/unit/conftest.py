"""What the numerical tests share: a tiny separable data set, tiny networks of it, and contexts that say nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import settings

from awt.artifacts import encode_npz
from awt.data.dataset import Dataset, Raw, arrays, decode
from awt.data.split import Split
from awt.errors import Interrupted
from awt.models.network import Masks, Network, Weights
from awt.models.zoo import build
from awt.params import Model
from awt.runtime import resume
from awt.runtime.context import Context
from awt.runtime import context as runtime_context

# the same examples everywhere: a run that fails can be had again
settings.register_profile("same examples", derandomize=True, deadline=None)
settings.load_profile("same examples")

MODELS = {
    "mlp": {"name": "mlp", "widths": [6, 5], "init": "glorot"},
    "cnn": {"name": "cnn", "widths": [3, 4, 6], "init": "glorot"},
}


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
    return lambda name, init="glorot": build(Model.of(model(name, init)), dataset)


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

        return {found.name: layer(found.kernel_shape, found.init) for found in network.weighted}

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


@pytest.fixture
def quiet(tmp_path: Path) -> Context:
    """A context without checkpoints that nobody asks to stop."""
    return Context(tmp_path / "none", 1e9, lambda lines, progress: False)


@pytest.fixture
def stopped_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, int]]:
    """Runs work whose context asks for a stop at its n-th report, anew until it ends; returns also the stops."""
    monkeypatch.setattr(runtime_context, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(resume, "PIECE_SECONDS", 0.0)

    def run(work: Callable[[Context], Any], reports: int) -> tuple[Any, int]:
        stops = 0
        while True:
            seen: list[Any] = []

            def report(lines: list[str], progress: dict[str, Any] | None, seen: list[Any] = seen) -> bool:
                seen.append(progress)
                return len(seen) >= reports

            try:
                return work(Context(tmp_path / f"stopped-{reports}", 1e9, report)), stops
            except Interrupted:
                stops += 1

    return run
