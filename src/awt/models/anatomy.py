"""What a mask is made of: its layers in order, the units that its kept weights join, what it shares with another."""

import re
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from awt.artifacts import Arrays
from awt.errors import InputError

_NAME = re.compile(r"(conv|dense)([0-9]+)")
_AXES = {"conv": "[height, width, in, out]", "dense": "[in, out]"}


class Units(NamedTuple):
    """The units of a layer (of a convolution: its channels), boolean, [units]."""

    fed: np.ndarray
    """A path of kept weights leads from an input to the unit; any other is constant, whatever its bias."""
    heard: np.ndarray
    """A path of kept weights leads from the unit to an output; any other changes nothing."""

    @property
    def alive(self) -> np.ndarray:
        return self.fed & self.heard


class Overlap(NamedTuple):
    """What two masks of a layer, or of a network, share."""

    kept: int
    other_kept: int
    both: int
    by_chance: float
    """The expected `both` of masks that keep as many weights of each layer, anywhere in it."""

    @property
    def jaccard(self) -> float | None:
        """|A ∩ B| / |A ∪ B|; none where both are empty."""
        union = self.kept + self.other_kept - self.both
        return self.both / union if union else None


def layers_of(arrays: Arrays, source: str) -> Arrays:
    """The layers of a mask in the network's order, convolutions first; refuses arrays that are no mask."""
    if not arrays:
        raise InputError(f"{source}: no mask: it has no arrays")
    for name, kept in arrays.items():
        _check_layer(name, kept, source)
    layers = {name: arrays[name] for name in sorted(arrays, key=_place)}
    for (before, first), (after, second) in pairwise(layers.items()):
        units, inputs = first.shape[-1], second.shape[-2]
        flattened = first.ndim == 4 and second.ndim == 2
        if inputs % units if flattened else inputs != units:
            raise InputError(
                f"{source}: no mask: {after} has {inputs} inputs, which {before}'s {units} units do not fit"
            )
    return layers


def _check_layer(name: str, kept: Any, source: str) -> None:
    if not isinstance(kept, np.ndarray):  # numpy gives the bytes of a member that is no .npy
        raise InputError(f"{source}: no mask: {name} is no array; artifacts/masks has masks")
    if kept.dtype != bool:
        raise InputError(f"{source}: no mask: {name} is {kept.dtype}, not boolean; artifacts/masks has masks")
    matched = _NAME.fullmatch(name)
    if matched is None:
        raise InputError(f"{source}: no mask: {name!r} is no layer; they are conv1, conv2, … and dense1, dense2, …")
    axes = _AXES[matched[1]]
    if kept.ndim != axes.count(",") + 1 or not kept.size:
        raise InputError(f"{source}: no mask: {name} has the shape {list(kept.shape)}, which is not {axes}")


def _place(name: str) -> tuple[str, int]:
    """Sorts conv2 before dense1, and dense2 before dense10."""
    matched = _NAME.fullmatch(name)
    assert matched is not None
    return matched[1], int(matched[2])


def joined(kept: np.ndarray, inputs: int) -> np.ndarray:
    """Which units a layer joins to which of the layer before, [inputs, units].

    Channels are joined by any position of a kernel. A dense layer after a convolution has an input for each position
    and channel, channel last, and joins the channel by any of them. Where 2 × 2 pooling follows 3 × 3 kernels, borders
    hide no path: from one position of a window or another, each of the kernel's weights lies within the picture.
    """
    return np.asarray(kept.reshape(-1, inputs, kept.shape[-1]).any(axis=0))


def units(layers: Arrays) -> dict[str, Units]:
    """Which units of each layer get something of the inputs, and which are heard at the outputs."""
    joins = _joins(layers)
    fed, heard = [np.ones(len(joins[0]), bool)], [np.ones(joins[-1].shape[1], bool)]
    for join in joins:
        fed.append(fed[-1] @ join)
    for join in reversed(joins[1:]):
        heard.append(join @ heard[-1])
    return {name: Units(*found) for name, *found in zip(layers, fed[1:], reversed(heard), strict=True)}


def used_inputs(layers: Arrays) -> np.ndarray:
    """Which inputs of the first layer (of a convolution: channels) have a kept weight to a living unit, [inputs]."""
    first = next(iter(units(layers).values()))
    return _joins(layers)[0] @ first.alive


def _joins(layers: Arrays) -> list[np.ndarray]:
    kept = list(layers.values())
    inputs = [kept[0].shape[-2], *(layer.shape[-1] for layer in kept)]
    return [joined(layer, count) for layer, count in zip(kept, inputs, strict=False)]


def square(inputs: int) -> tuple[int, int, int]:
    """Height, width and channels of pictures of which no more is known: a square of one channel or three, or a line."""
    for channels in (1, 3):
        side = round((inputs / channels) ** 0.5)
        if side * side * channels == inputs:
            return side, side, channels
    return 1, inputs, 1


def weights_by_place(first: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Kept weights of a first layer, [height, width, channels]: of each pixel, or of each position of a kernel.

    The shape is that of the pictures; a convolution's kernel has its own.
    """
    counts = np.count_nonzero(first, axis=-1)
    return counts if first.ndim == 4 else counts.reshape(shape)


def overlaps(layers: Arrays, other: Arrays) -> dict[str, Overlap]:
    """What two masks of the same shapes share, by layer."""
    return {name: _overlap(kept, other[name]) for name, kept in layers.items()}


def _overlap(kept: np.ndarray, other: np.ndarray) -> Overlap:
    first, second, both = (int(np.count_nonzero(one)) for one in (kept, other, kept & other))
    return Overlap(first, second, both, first * second / kept.size)


def whole(found: dict[str, Overlap]) -> Overlap:
    """Of the network, of its layers."""
    kept, other_kept, both, by_chance = zip(*found.values(), strict=True)
    return Overlap(sum(kept), sum(other_kept), sum(both), sum(by_chance))
