"""Functions of other libraries and of none, all of 4 × 4 pictures in three classes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import awt
from awt.api.wrapped import Wrapped
from awt.models.network import Network


class Foreign(NamedTuple):
    """A function apply(params, x), and parameters for it."""

    apply: Callable[[Any, jax.Array], jax.Array]
    params: Any


class Cnn(nn.Module):
    """Two dense layers after a convolution."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.relu(nn.Conv(3, (3, 3))(x)).reshape(len(x), -1)
        return nn.Dense(3)(nn.tanh(nn.Dense(5)(x)))


def plain() -> Foreign:
    def apply(params: Any, x: jax.Array) -> jax.Array:
        hidden = jnp.tanh(x.reshape(len(x), -1) @ params["first"] + params["shift"])
        return params["scale"] * (hidden @ params["second"])

    first, second, shift = jax.random.split(jax.random.key(0), 3)
    params = {
        "first": 0.5 * jax.random.normal(first, (16, 6)),
        "second": jax.random.normal(second, (6, 3)),
        "shift": 0.1 * jax.random.normal(shift, (6,)),
        "scale": jnp.asarray(0.7),
    }
    return Foreign(apply, params)


def flax() -> Foreign:
    module = Cnn()
    return Foreign(module.apply, module.init(jax.random.key(1), jnp.zeros((1, 4, 4, 1))))


def flax_nnx() -> Foreign:
    graph, state = nnx.split(
        nnx.Sequential(nnx.Linear(16, 5, rngs=nnx.Rngs(2)), nnx.relu, nnx.Linear(5, 3, rngs=nnx.Rngs(3)))
    )
    return Foreign(lambda state, x: nnx.merge(graph, state)(x.reshape(len(x), -1)), state)


def equinox() -> Foreign:
    """With leaves that are no arrays: its activations."""
    model = eqx.nn.MLP(16, 3, 6, 1, activation=jnp.tanh, key=jax.random.key(4))
    return Foreign(lambda model, x: jax.vmap(model)(x.reshape(len(x), -1)), model)


FOREIGN = {"plain": plain, "flax": flax, "nnx": flax_nnx, "equinox": equinox}


@pytest.fixture(params=FOREIGN)
def foreign(request: pytest.FixtureRequest) -> Foreign:
    return FOREIGN[request.param]()


@pytest.fixture
def mlp(build_network: Callable[..., Network]) -> Network:
    return build_network("mlp")


@pytest.fixture
def wrapped_mlp(mlp: Network) -> Wrapped:
    """awt's own network as anybody's function, at its initial weights; its layers are called as before."""
    weights = mlp.initialise(0)
    kernels = {name: layer["kernel"] for name, layer in weights.items()}

    def apply(params: Any, x: jax.Array) -> jax.Array:
        biases = zip(weights, params["biases"], strict=True)
        return mlp.apply({name: {"kernel": params[name], "bias": bias} for name, bias in biases}, x)

    return awt.wrap(apply, {**kernels, "biases": [layer["bias"] for layer in weights.values()]})
