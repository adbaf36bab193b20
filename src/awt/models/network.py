"""A network: a sequence of layers, its weights and masks as plain dictionaries by layer name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from awt.artifacts import Arrays, Buffer, decode_npz, encode_npz
from awt.errors import InputError
from awt.keys import key
from awt.models.layers import Conv, Dense, Layer, LayerWeights, MaxPool, Relu, Weighted

Weights = dict[str, LayerWeights]
Masks = dict[str, jax.Array]  # boolean, one a kernel; biases are never pruned


@dataclass(frozen=True)
class Network:
    """f(θ, x) for x [n, height, width, channels] in [0, 1]; hashable, so that it can be a static argument of jit."""

    layers: tuple[Layer, ...]

    @property
    def weighted(self) -> tuple[Weighted, ...]:
        return tuple(layer for layer in self.layers if isinstance(layer, Dense | Conv))

    @property
    def kernel_shapes(self) -> dict[str, tuple[int, ...]]:
        return {layer.name: layer.kernel_shape for layer in self.weighted}

    def everything(self) -> Masks:
        """The mask that prunes nothing."""
        return {name: jnp.ones(shape, bool) for name, shape in self.kernel_shapes.items()}

    def initialise(self, seed: int) -> Weights:
        """θ₀; a layer's weights depend on the seed and its name alone."""
        return self._initialise({layer.name: key(seed, "initialise", layer.name) for layer in self.weighted})

    @partial(jax.jit, static_argnums=0)
    def _initialise(self, keys: dict[str, jax.Array]) -> Weights:
        return {layer.name: layer.initialise(keys[layer.name]) for layer in self.weighted}

    def apply(self, weights: Weights, x: jax.Array) -> jax.Array:
        """Logits [n, classes]."""
        for layer in self.layers:
            x = layer.apply(weights[layer.name], x) if isinstance(layer, Dense | Conv) else layer(x)
        return x

    def tapped(
        self, weights: Weights, x: jax.Array, taps: Mapping[str, jax.Array]
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        """Logits, and each weighted layer's input features; taps are added to the layers' outputs.

        The gradient with respect to a tap is what is back-propagated to that layer: with the features, all that the
        layer's part of a tangent kernel is made of. A convolution of few inputs is tapped after its ReLU and pooling,
        which leave a quarter of the outputs: its features are those of the patch, and of the bias, that each pooled
        unit depends on, [n, h / 2, w / 2, size * size * in + 1, out].
        """
        features = {}
        layers = list(self.layers)
        while layers:
            layer = layers.pop(0)
            if not isinstance(layer, Dense | Conv):
                x = layer(x)
                continue
            seen = layer.features(x)
            # not `apply`: outside of loops, gradients pass through lax.conv 4 to 9 times faster than through shifts
            x = (layer.convolve if isinstance(layer, Conv) else layer.apply)(weights[layer.name], x)
            if isinstance(layer, Conv) and layers[:2] == [Relu(), MaxPool()] and self._pooled_is_less(layer):
                del layers[:2]
                seen, x = _pooled(seen, x)
            features[layer.name] = seen
            x = x + taps[layer.name] if layer.name in taps else x
        return x, features

    def _pooled_is_less(self, layer: Conv) -> bool:
        """Whether features for each pooled unit are fewer numbers than what is back-propagated to its whole window."""
        return layer.size**2 * layer.inputs < 4 * self.weighted[-1].units


def _pooled(patches: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Features and outputs of a convolution's pooled units, of its patches and outputs."""
    pool = MaxPool()
    windows = pool.windows(x)
    counts = pool.first(windows) & (windows > 0)
    with_bias = jnp.concatenate([patches, jnp.ones_like(patches[..., :1])], axis=-1)
    seen = jnp.sum(pool.windows(with_bias)[..., None] * counts[..., None, :], axis=3)
    return seen, jnp.sum(jnp.where(counts, windows, 0.0), axis=3)


def apply_mask(weights: Weights, mask: Masks) -> Weights:
    """m ⊙ θ."""
    return {
        name: {"kernel": jnp.where(mask[name], layer["kernel"], 0.0), "bias": layer["bias"]}
        for name, layer in weights.items()
    }


def nonzero(weights: Weights) -> Masks:
    """The mask of a trained sparse network, of whose pruned weights each is exactly 0."""
    return {name: layer["kernel"] != 0 for name, layer in weights.items()}


def encode_weights(weights: Weights) -> bytes:
    return encode_npz({f"{name}/{part}": array for name, layer in weights.items() for part, array in layer.items()})


def decode_weights(data: Buffer, source: str) -> Weights:
    weights: dict[str, dict[str, np.ndarray]] = {}
    for name, array in decode_npz(data, source).items():
        layer, _, part = name.partition("/")
        if not part:
            raise InputError(f"{source}: no weights of a network: {name!r} is not named <layer>/<part>")
        weights.setdefault(layer, {})[part] = array
    return jax.tree.map(jnp.asarray, weights)


def fitting(network: Network, weights: Weights, source: str, whose: str = "the network of params.yaml") -> Weights:
    """The weights, once they are known to be of the network; `source` and `whose` name them and it in errors."""
    wanted: dict[str, tuple[int, ...]] = {}
    for layer in network.weighted:
        wanted |= {f"{layer.name}/kernel": layer.kernel_shape, f"{layer.name}/bias": (layer.units,)}
    found = {f"{name}/{part}": array.shape for name, layer in weights.items() for part, array in layer.items()}
    for name in (*wanted, *found):
        if wanted.get(name) != found.get(name):
            raise InputError(
                f"{source}: weights of another network: {name} is {_shape(found.get(name))}; "
                f"{whose} has {_shape(wanted.get(name))}"
            )
    return weights


def _shape(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " x ".join(map(str, shape))


def encode_mask(mask: Masks) -> bytes:
    return encode_npz({name: np.asarray(kept, bool) for name, kept in mask.items()})


def decode_mask(data: Buffer, source: str) -> Masks:
    arrays: Arrays = decode_npz(data, source)
    return {name: jnp.asarray(kept) for name, kept in arrays.items()}
