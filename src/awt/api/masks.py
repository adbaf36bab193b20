"""Masks, and files of masks and weights."""

from pathlib import Path
from typing import Any

import numpy as np

from awt.artifacts import decode_npz, write
from awt.errors import InputError
from awt.models.anatomy import Overlap, overlaps, whole
from awt.models.network import Masks, Weights, decode_mask, decode_weights, encode_mask, encode_weights
from awt.tickets.masks import shares


def density(mask: Masks) -> float:
    """The share of the weights that a mask keeps."""
    return shares(mask)["kept"]


def overlap(mask: Masks, other: Masks) -> Overlap:
    """What two masks of one network share: weights kept by each, by `both`, and how many both would keep by chance."""
    first, second = ({name: np.asarray(kept) for name, kept in one.items()} for one in (mask, other))
    shapes, others = ({name: kept.shape for name, kept in one.items()} for one in (first, second))
    if shapes != others:
        raise InputError(f"other: a mask of another network, with {_listed(others)}; mask has {_listed(shapes)}")
    return whole(overlaps(first, second))


def save(path: str | Path, value: Masks | Weights) -> None:
    """Writes a mask, or weights, as an .npz: the whole file or nothing; its format is that of pipelines."""
    layers: list[Any] = list(value.values())
    is_mask = not any(isinstance(layer, dict) for layer in layers)
    if not is_mask and any(isinstance(part, dict) for layer in layers for part in layer.values()):
        raise InputError(
            "value: weights of a wrapped function; save network.params(value) as its own library saves parameters"
        )
    write(Path(path), encode_mask(value) if is_mask else encode_weights(value))  # type: ignore[arg-type]


def load(path: str | Path) -> Masks | Weights:
    """Reads a mask, or weights, that `save` or a pipeline wrote (artifacts/masks, artifacts/models)."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: not readable ({error.strerror}); it should be an .npz of a mask or of weights"
        ) from None
    arrays: dict[str, Any] = decode_npz(data, str(path))
    if arrays and all("/" in name for name in arrays):
        return decode_weights(data, str(path))
    if arrays and all(isinstance(array, np.ndarray) and array.dtype == bool for array in arrays.values()):
        return decode_mask(data, str(path))
    raise InputError(f"{path}: neither a mask (boolean arrays by layer) nor weights (arrays <layer>/kernel and /bias)")


def _listed(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in shapes.items())
