"""The checks that readers share before they hand their points on."""

from pathlib import Path

import numpy as np

from awt.errors import InputError


def labels(y: np.ndarray, points: int, classes: int | None, source: str) -> np.ndarray:
    """`y` as int32, once it is known to name one of the classes 0..classes-1 for each point.

    Training labels come without `classes`: they say how many there are, and must leave none out.
    """
    _check_form(y, points, source)
    lowest, highest = int(y.min()), int(y.max())
    if lowest < 0:
        raise InputError(f"{source}: label {lowest} is negative; labels count classes from 0")
    if classes is None:
        _check_no_gap(y, source)
    elif highest >= classes:
        raise InputError(f"{source}: label {highest} is out of range; labels must be 0..{classes - 1}")
    return y.astype(np.int32)


def check_digest(digest: str, path: Path, expected: str | None) -> None:
    """Compares the digest of the user's own data with data.sha256, or tells it where that is null."""
    if expected is None:
        print(f"note: {path} has sha256 {digest}; put it in data.sha256 to notice a change")
    elif digest != expected:
        raise InputError(
            f"{path}: its sha256 is {digest}, but data.sha256 says {expected}; "
            f"restore the file, or change data.sha256 if the new content is meant"
        )


def _check_form(y: np.ndarray, points: int, source: str) -> None:
    if not np.issubdtype(y.dtype, np.integer):
        raise InputError(f"{source}: labels of type {y.dtype}; they must be integers, 0..classes-1")
    if y.ndim != 1:
        raise InputError(f"{source}: labels of shape {list(y.shape)}; they must be [n], one per point")
    if len(y) != points:
        raise InputError(f"{source}: {len(y)} labels for {points} points; there must be one per point")
    if points == 0:
        raise InputError(f"{source}: no points at all; there must be at least one per class")


def _check_no_gap(y: np.ndarray, source: str) -> None:
    present = np.unique(y)
    gaps = np.flatnonzero(present != np.arange(len(present)))
    if len(gaps):
        raise InputError(
            f"{source}: class {gaps[0]} has no points though label {present[-1]} is there; "
            f"labels must be 0..classes-1 with none left out"
        )
    if len(present) < 2:
        raise InputError(f"{source}: every label is {present[0]}; there must be at least 2 classes")
