"""What people pass, checked and in the core's form: networks and weights, masks, points with labels, threats."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from awt.api.wrapped import Wrapped, is_kernel
from awt.attacks.ball import Ball, Threat, ball
from awt.data.checks import labels
from awt.data.dataset import Dataset, moments
from awt.errors import InputError
from awt.models.layers import Normalise
from awt.models.network import Masks, Network, Weights, fitting
from awt.options import as_json
from awt.params.checking import checked

Function = Network | Callable[[Any, jax.Array], jax.Array]
"""A network of `awt.network` or `awt.wrap`, or a plain apply(params, x)."""
Points = Dataset | tuple[ArrayLike, ArrayLike]
"""Training data: (x, y), or a data set of `awt.dataset`."""


def plain(value: Any) -> Any:
    """As JSON values: options as mappings, numpy's and JAX's numbers as Python's."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = as_json(value)
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic | np.ndarray | jax.Array) and value.ndim == 0 else value


def own_network(network: Any) -> Network:
    """What can be searched and trained: a network, not a function alone."""
    if isinstance(network, Network):
        return network
    hint = "wrap it first: awt.wrap(apply, params)" if callable(network) else "awt.network and awt.wrap make one"
    raise InputError(f"network: {type(network).__name__} is no network; {hint}")


def weights_of(network: Network, weights: Any, name: str = "weights") -> Weights:
    """The weights of a network, or of a wrapped one its parameters."""
    if isinstance(network, Wrapped):
        return network.weights(weights)
    if not isinstance(weights, Mapping) or not all(isinstance(layer, Mapping) for layer in weights.values()):
        raise InputError(f"{name}: they should be as network.initialise(seed) gives them, by layer")
    return fitting(network, jax.tree.map(jnp.asarray, dict(weights)), name, "the network")


def function_of(f: Function, params: Any) -> tuple[Network, Weights]:
    """A network, or a function as one, with its weights."""
    if isinstance(f, Network):
        return f, weights_of(f, params, "params")
    if not callable(f):
        raise InputError(f"f: {type(f).__name__} is neither a network nor a function apply(params, x)")
    leaves = [leaf for leaf in jax.tree.leaves(params) if hasattr(leaf, "ndim")]
    matrices = any(leaf.ndim >= 2 for leaf in leaves)
    network = Wrapped(f, params, is_kernel if matrices else lambda place, leaf: True, keep_initial=False)
    return network, network.weights(params)


def mask_of(network: Network, mask: Any) -> Masks | None:
    """A mask, once it is known to be of the network."""
    if mask is None:
        return None
    shapes = network.kernel_shapes
    arrays = {name: jnp.asarray(kept) for name, kept in mask.items()}
    for name in (*shapes, *arrays):
        if name not in arrays or name not in shapes:
            missing = "misses" if name in shapes else "has"
            raise InputError(f"mask: it {missing} the layer {name!r}; the network's are {', '.join(shapes)}")
        if arrays[name].shape != shapes[name] or arrays[name].dtype != bool:
            raise InputError(
                f"mask: {name} is {arrays[name].dtype} {list(arrays[name].shape)}; it should be boolean, "
                f"{list(shapes[name])}"
            )
    return arrays


def images(network: Network, x: ArrayLike, name: str = "x") -> tuple[Network, np.ndarray]:
    """Points as images [n, height, width, channels] in float32, and the network as one of such images."""
    points = np.asarray(x)
    if points.dtype == np.uint8:
        points = points.astype(np.float32) / np.float32(255)
    if not np.issubdtype(points.dtype, np.floating) or points.ndim < 2 or not points.size:
        raise InputError(
            f"{name}: {points.dtype} {list(points.shape)}; it should be floating numbers (or uint8), [n, …]"
        )
    points = points.astype(np.float32)
    if isinstance(network, Wrapped) and points.ndim != 4:
        network = network.of_images(points.shape[1:])
        two, three = points.ndim == 2, points.ndim == 3
        points = (
            points[:, None, :, None] if two else points[..., None] if three else points.reshape(*points.shape[:3], -1)
        )
    if points.ndim != 4:
        raise InputError(f"{name}: shape {list(points.shape)}; the network takes images [n, height, width, channels]")
    return network, points


def answers(network: Network, weights: Weights, x: Any, name: str = "x") -> int:
    """How many outputs a point has, once the network is known to take such points."""
    try:
        shape = jax.eval_shape(network.apply, weights, jnp.asarray(x[:1])).shape
    except (TypeError, ValueError) as error:
        if isinstance(network, Wrapped):
            raise
        reason = str(error).partition("\n")[0]
        raise InputError(f"{name}: the network takes no points of shape {list(x.shape[1:])} ({reason})") from None
    if len(shape) != 2 or shape[0] != 1:
        raise InputError(f"f: its outputs for one point have the shape {list(shape)}; they should be [1, classes]")
    return int(shape[1])


def checked_threat(threat: Any, name: str = "threat") -> Threat:
    """A threat, checked; none is one of size 0."""
    if threat is None:
        return Threat(eps=0.0)
    if not isinstance(threat, Threat | Mapping):
        raise InputError(f"{name}: {threat!r} is no threat; it should be awt.Threat(eps=…)")
    return checked(Threat, plain(threat), name)


def ball_around(threat: Any, network: Network, x: np.ndarray) -> Ball:
    """The ball of a threat around images; its unit `std` is that of the network's own normalisation."""
    asked = checked_threat(threat)
    std = np.ones(x.shape[-1], np.float32)
    if asked.eps_unit == "std":
        first = None if isinstance(network, Wrapped) else network.layers[0]
        if not isinstance(first, Normalise):
            raise InputError("threat: eps_unit: std is not known of a function; give eps in pixels (eps_unit='pixel')")
        std = np.asarray(first.std, np.float32)
    if asked.clip and (x.min() < 0 or x.max() > 1):
        raise InputError(
            f"x: values from {x.min():.3g} to {x.max():.3g}; an attack keeps pixels in [0, 1]: scale them, and let the "
            "function normalise; or say Threat(clip=False)"
        )
    return ball(asked, std)


def checked_batch(batch: Any) -> int:
    if not isinstance(batch, int) or batch < 1:
        raise InputError(f"batch: {batch!r}; it should be a whole number of points, 1 or more")
    return batch


def labels_of(y: ArrayLike, points: int, classes: int, name: str = "y") -> np.ndarray:
    return labels(np.asarray(y), points, classes, name)


def dataset_of(
    network: Network, weights: Weights, data: Any, validation: Any = None, clip: bool = True
) -> tuple[Network, Dataset]:
    """Training data as a data set, and the network as one of its images."""
    if isinstance(data, Dataset):
        answers(network, weights, data.train_x, "data")
        if validation is None:
            return network, data
        _, x, y = _pair(network, weights, validation, "validation", clip)
        return network, dataclasses.replace(data, validation_x=x, validation_y=y)
    seen, x, y = _pair(network, weights, data, "data", clip)
    if validation is None:
        validation_x, validation_y = x[:0], y[:0]
    else:
        _, validation_x, validation_y = _pair(network, weights, validation, "validation", clip)
    mean, std = moments(x, 1.0)
    classes = answers(seen, weights, x, "data")
    return seen, Dataset(x, y, validation_x, validation_y, x[:0], y[:0], mean, std, classes)


def _pair(
    network: Network, weights: Weights, data: Any, name: str, clip: bool
) -> tuple[Network, np.ndarray, np.ndarray]:
    if not isinstance(data, list | tuple) or len(data) != 2:
        raise InputError(f"{name}: {type(data).__name__}; it should be (x, y), or a data set of awt.dataset")
    seen, x = images(network, data[0], f"{name}: x")
    if clip and (x.min() < 0 or x.max() > 1):
        raise InputError(f"{name}: x: values from {x.min():.3g} to {x.max():.3g}; pixels should be in [0, 1]")
    return seen, x, labels_of(data[1], len(x), answers(seen, weights, x, name), f"{name}: y")
