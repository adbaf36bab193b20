"""Networks: awt's own by name, and anybody's function as one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from awt.api.arguments import plain
from awt.api.wrapped import Apply, Prunable, Wrapped, is_kernel
from awt.data.dataset import Dataset, Description
from awt.errors import InputError
from awt.models.architecture import Described, Model, architecture, build
from awt.models.layers import Init
from awt.models.network import Network
from awt.models.registry import NETWORKS, check, resolved
from awt.params.checking import checked


def network(
    name: str,
    widths: Sequence[int] | None = None,
    data: Dataset | None = None,
    *,
    shape: tuple[int, int, int] = (28, 28, 1),
    classes: int = 10,
    mean: ArrayLike = 0.0,
    std: ArrayLike = 1.0,
    init: Init = "glorot",
) -> Network:
    """Builds one of awt's networks: `network.initialise(seed)` gives weights, `network.apply(weights, x)` logits.

    Args:
      name: "mlp", "cnn", "lenet", "vgg16", or "module:name" of a function of your own that lists the layers.
      widths: the units of its layers; without, those of its paper.
      data: the data set that it is for, in place of the four below.
      shape: of an image: height, width, channels.
      classes: the number of its outputs.
      mean, std: what it subtracts from pixels, and divides them by: a number, or one a channel.
      init: "glorot", "he", "lecun", or "ntk", under which wide networks have a limit.
    """
    if widths is None and name in NETWORKS:
        widths = architecture(NETWORKS[name]).widths
        if widths is None:
            raise InputError(
                f"widths: {name} has no published ones; give the units of its hidden layers, e.g. (300, 100)"
            )
    asked = {"name": name, "widths": list(widths or ()), "init": init}
    model = checked(Model, plain(asked), "network")
    check(model, section="")
    if data is not None and not isinstance(data, Dataset):
        raise InputError(
            f"data: {type(data).__name__}; it should be a data set of awt.dataset; of arrays say shape and classes"
        )
    described = data if data is not None else _described(shape, classes, mean, std)
    height, width, _ = described.shape
    least = 2 ** architecture(resolved(model).name).halvings
    if min(height, width) < least:
        raise InputError(f"shape: {name} needs images of {least} x {least} at least, not {height} x {width}")
    return build(resolved(model), described)


def wrap(apply: Apply, params: Any, prunable: Prunable | None = None) -> Wrapped:
    """Makes a network of any function apply(params, x), for example of Flax or Equinox.

    Its weights are {layer: {"kernel": …, "bias": …}} like those of awt's own networks, where each leaf of `params` that
    may be pruned is a layer's kernel; `network.weights(params)` and `network.params(weights)` convert. All floating
    arrays are trained: what should stay as it is, such as statistics of batches, belongs into the function.

    Args:
      apply: parameters, points [n, …] ↦ outputs [n, classes], of each point by itself.
      params: any pytree; `network.initialise` returns its weights.
      prunable: says of a leaf's place, such as "params.Dense_0.kernel", and of the leaf whether it may be pruned;
        without, all floating arrays of two or more dimensions may that are not called bias.
    """
    if not callable(apply):
        raise InputError(f"apply: {type(apply).__name__} is no function of parameters and points")
    return Wrapped(apply, params, prunable or is_kernel)


def _described(shape: tuple[int, int, int], classes: int, mean: ArrayLike, std: ArrayLike) -> Described:
    if len(shape) != 3 or any(not isinstance(size, int | np.integer) or size < 1 for size in shape):
        raise InputError(f"shape: {shape}; it should be (height, width, channels), e.g. (28, 28, 1)")
    if not isinstance(classes, int | np.integer) or classes < 1:
        raise InputError(f"classes: {classes}; it should be a whole number, 1 or more")
    channels = shape[2]
    moments = []
    for name, value in (("mean", mean), ("std", std)):
        array = np.asarray(value, np.float32)
        if array.shape not in ((), (channels,)) or not np.isfinite(array).all():
            raise InputError(f"{name}: {value!r}; it should be a number, or one for each of the {channels} channels")
        moments.append(np.broadcast_to(array, (channels,)))
    return Description(shape, int(classes), *moments)
