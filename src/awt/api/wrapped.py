"""Anybody's function of any pytree of parameters, as a network: what masks, searches, training and attacks work on."""

from collections.abc import Callable
from types import MethodType
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from awt.errors import InputError
from awt.models.network import Network, Weights

Apply = Callable[[Any, jax.Array], jax.Array]  # parameters, points [n, …] -> outputs [n, classes]
Prunable = Callable[[str, Any], bool]  # a leaf's place, such as "params.Dense_0.kernel", and the leaf


class Wrapped(Network):
    """A function apply(params, x) as a network; `awt.wrap` makes one.

    Its weights have the form of all of awt's, {layer: {"kernel": array, "bias": …}}. Each leaf that may be pruned is
    the kernel of a layer, named after the leaf's place. All other floating leaves are in the first layer's "bias";
    what is no floating array is a constant. `params` and `weights` lead from one form to the other.
    """

    def __init__(self, apply: Apply, params: Any, prunable: Prunable, keep_initial: bool = True) -> None:
        leaves, tree = jax.tree.flatten_with_path(params)
        self._tree: Any = tree
        self._apply = apply
        self._places = tuple(_place(path) for path, _ in leaves)
        if len(set(self._places)) < len(self._places):
            raise InputError(f"params: two leaves would have one name; they are {', '.join(sorted(self._places))}")
        floating = {place: leaf for place, (_, leaf) in zip(self._places, leaves, strict=True) if _is_floating(leaf)}
        self._kernels = tuple(place for place, leaf in floating.items() if prunable(place, leaf))
        if not self._kernels:
            shapes = ", ".join(f"{place} {list(leaf.shape)}" for place, leaf in floating.items())
            raise InputError(f"params: none of its floating arrays may be pruned; they are {shapes or 'none'}")
        self._others = tuple(place for place in floating if place not in self._kernels)
        self._shapes = {place: tuple(leaf.shape) for place, leaf in floating.items()}
        self._constants = {
            place: leaf for place, (_, leaf) in zip(self._places, leaves, strict=True) if place not in floating
        }
        self._initial = params if keep_initial else None
        self._points: tuple[int, ...] | None = None

    def of_images(self, points: tuple[int, ...]) -> "Wrapped":
        """The same network, of images [n, height, width, channels], where the function takes points of this shape."""
        network = Wrapped.__new__(Wrapped)
        network.__dict__.update(self.__dict__, _points=points)
        return network

    @property
    def layers(self) -> NoReturn:
        raise InputError(
            "network: this needs to know the layers, and a wrapped function has none that awt knows; "
            "choose what works on any function (docs/library.md), or build the network with awt.network"
        )

    @property
    def kernel_shapes(self) -> dict[str, tuple[int, ...]]:
        return {place: self._shapes[place] for place in self._kernels}

    def initialise(self, seed: int) -> Weights:
        """The parameters that were wrapped, whatever the seed."""
        if self._initial is None:
            raise InputError("network: a function alone has no initial weights; awt.wrap(apply, params) has")
        return self.weights(self._initial)

    def apply(self, weights: Weights, x: jax.Array) -> jax.Array:
        points = x if self._points is None else x.reshape(len(x), *self._points)
        return self._apply(self.params(weights), points)

    def params(self, weights: Weights) -> Any:
        """The pytree that the function takes, of weights."""
        first, *_ = self._kernels
        leaves = {place: weights[place]["kernel"] for place in self._kernels} | self._constants
        leaves |= weights[first]["bias"]
        return jax.tree.unflatten(self._tree, [leaves[place] for place in self._places])

    def weights(self, params: Any) -> Weights:
        """The weights of a pytree of the wrapped one's form; of weights, themselves."""
        if isinstance(params, dict) and params.keys() == set(self._kernels) and self._is_weights(params):
            return params
        leaves, tree = jax.tree.flatten(params)
        if tree != self._tree:
            raise InputError(f"params: {tree} is not the form of what was wrapped, {self._tree}")
        arrays = {
            place: jnp.asarray(leaf)
            for place, leaf in zip(self._places, leaves, strict=True)
            if place not in self._constants
        }
        for place, array in arrays.items():
            _check_shape(place, array.shape, self._shapes[place])
        weights: dict[str, Any] = {place: {"kernel": arrays[place], "bias": {}} for place in self._kernels}
        weights[self._kernels[0]]["bias"] = {place: arrays[place] for place in self._others}
        return weights

    def _is_weights(self, weights: Any) -> bool:
        """Whether they have the form of this network's, once their shapes are known to be right."""
        if not all(isinstance(layer, dict) and layer.keys() == {"kernel", "bias"} for layer in weights.values()):
            return False
        others = weights[self._kernels[0]]["bias"]
        if not isinstance(others, dict) or others.keys() != set(self._others):
            return False
        kernels = {place: layer["kernel"] for place, layer in weights.items()}
        for place, array in (kernels | others).items():
            _check_shape(place, array.shape, self._shapes[place])
        return True

    # so that jitted functions are compiled once for a function and a form of parameters, however often it is wrapped
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Wrapped)
            and _is_same(self._apply, other._apply)
            and self._initial is other._initial
            and self._form == other._form
            and self._tree == other._tree
            and all(_is_same(value, other._constants[place]) for place, value in self._constants.items())
        )

    def __hash__(self) -> int:
        return hash(self._form)

    @property
    def _form(self) -> tuple[Any, ...]:
        return self._places, self._kernels, tuple(self._shapes.items()), tuple(self._constants), self._points

    def __repr__(self) -> str:
        return f"Wrapped({self._apply!r}, {len(self._kernels)} prunable of {len(self._places)} leaves)"


def is_kernel(place: str, leaf: Any) -> bool:
    """What may be pruned unless somebody says otherwise: arrays of two or more dimensions that are not called bias."""
    return leaf.ndim >= 2 and place.rpartition(".")[2] != "bias"


def _place(path: tuple[Any, ...]) -> str:
    # not /, which parts names in files
    return jax.tree_util.keystr(path, simple=True, separator=".").replace("/", ".") or "params"


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray) and bool(jnp.issubdtype(leaf.dtype, jnp.floating))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two are one object; `model.apply` is another every time, and equal."""
    return one is other or (isinstance(one, MethodType) and isinstance(other, MethodType) and one == other)


def _check_shape(place: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if tuple(shape) != wanted:
        raise InputError(f"params: {place} has the shape {list(shape)}; what was wrapped has {list(wanted)}")
