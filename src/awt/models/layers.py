"""The layers of networks: plain descriptions, each a pure function of its weights and its input."""

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

Init = Literal["glorot", "he", "lecun", "ntk"]
Shape = tuple[int, ...]
LayerWeights = dict[str, jax.Array]


def _kernel(key: jax.Array, shape: Shape, init: Init) -> jax.Array:
    if init == "ntk":
        return jax.random.normal(key, shape)
    # plain normals: the truncated ones that libraries default to have no tails, so that a magnitude mask over the
    # whole network would leave out the layers with small weights altogether
    fan_in, fan_out = math.prod(shape[:-1]), math.prod(shape[:-2]) * shape[-1]
    variance = {"glorot": 2.0 / (fan_in + fan_out), "he": 2.0 / fan_in, "lecun": 1.0 / fan_in}[init]
    return math.sqrt(variance) * jax.random.normal(key, shape)


def _scale(shape: Shape, init: Init) -> float:
    """Only `ntk` moves the initialisation's scale to the forward pass."""
    return math.sqrt(2.0 / math.prod(shape[:-1])) if init == "ntk" else 1.0


@dataclass(frozen=True)
class Dense:
    """y = x W + b."""

    name: str
    inputs: int
    units: int
    init: Init

    @property
    def kernel_shape(self) -> Shape:
        return (self.inputs, self.units)

    @property
    def scale(self) -> float:
        """What the forward pass multiplies the kernel by."""
        return _scale(self.kernel_shape, self.init)

    def initialise(self, key: jax.Array) -> LayerWeights:
        return {"kernel": _kernel(key, self.kernel_shape, self.init), "bias": jnp.zeros(self.units)}

    def features(self, x: jax.Array) -> jax.Array:
        """∂(output)/∂(kernel), as the input times the forward scale: [n, in]."""
        return x * self.scale

    def apply(self, weights: LayerWeights, x: jax.Array) -> jax.Array:
        return self.features(x) @ weights["kernel"] + weights["bias"]


@dataclass(frozen=True)
class Conv:
    """A convolution with SAME padding and stride 1, on [n, height, width, channels]."""

    name: str
    inputs: int
    units: int
    size: int
    init: Init

    @property
    def kernel_shape(self) -> Shape:
        return (self.size, self.size, self.inputs, self.units)

    @property
    def scale(self) -> float:
        """What the forward pass multiplies the kernel by."""
        return _scale(self.kernel_shape, self.init)

    def initialise(self, key: jax.Array) -> LayerWeights:
        return {"kernel": _kernel(key, self.kernel_shape, self.init), "bias": jnp.zeros(self.units)}

    def features(self, x: jax.Array) -> jax.Array:
        """The patches that each output position sees, in the kernel's order: [n, h, w, size * size * in]."""
        height, width = x.shape[1:3]
        before = (self.size - 1) // 2
        pad = (before, self.size - 1 - before)
        padded = jnp.pad(x, ((0, 0), pad, pad, (0, 0)))
        shifts = [padded[:, i : i + height, j : j + width] for i in range(self.size) for j in range(self.size)]
        return jnp.concatenate(shifts, axis=-1) * self.scale

    def apply(self, weights: LayerWeights, x: jax.Array) -> jax.Array:
        # nine shifts and one matmul beat lax.conv on CPUs (190 against 349 ms a training step, measured); not on GPUs
        if jax.default_backend() == "cpu":
            kernel = weights["kernel"].reshape(-1, self.units)
            return self.features(x) @ kernel + weights["bias"]
        return self.convolve(weights, x)

    def convolve(self, weights: LayerWeights, x: jax.Array) -> jax.Array:
        kernel = weights["kernel"] * self.scale
        dimensions = ("NHWC", "HWIO", "NHWC")
        y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dimensions)
        return y + weights["bias"]


Weighted = Dense | Conv


@dataclass(frozen=True)
class Normalise:
    """(x - mean) / std per channel: inside the network, so that attacks and ε stay in pixels."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __call__(self, x: jax.Array) -> jax.Array:
        return (x - jnp.asarray(self.mean)) / jnp.asarray(self.std)


@dataclass(frozen=True)
class Relu:
    def __call__(self, x: jax.Array) -> jax.Array:
        return jax.nn.relu(x)


@dataclass(frozen=True)
class MaxPool:
    """2 × 2, stride 2; an odd last row or column is dropped. Of equal maxima the first gets the gradient."""

    def __call__(self, x: jax.Array) -> jax.Array:
        windows = self.windows(x)
        return jnp.sum(jnp.where(self.first(windows), windows, 0.0), axis=3)

    def windows(self, x: jax.Array) -> jax.Array:
        """What each pooled position sees: [n, h / 2, w / 2, 4, channels]."""
        n, height, width, channels = x.shape
        height, width = height // 2, width // 2
        windows = x[:, : 2 * height, : 2 * width].reshape(n, height, 2, width, 2, channels)
        return windows.transpose(0, 1, 3, 2, 4, 5).reshape(n, height, width, 4, channels)

    def first(self, windows: jax.Array) -> jax.Array:
        """Which entry of a window is its (first) maximum: boolean, of the windows' shape."""
        return jax.nn.one_hot(jnp.argmax(jax.lax.stop_gradient(windows), axis=3), 4, axis=3, dtype=bool)


@dataclass(frozen=True)
class Flatten:
    def __call__(self, x: jax.Array) -> jax.Array:
        return x.reshape(x.shape[0], -1)


Layer = Weighted | Normalise | Relu | MaxPool | Flatten
