"""The split into training, validation and test points: seeded, and with the same classes in each part."""

from dataclasses import dataclass

import numpy as np

from awt.data.options import Data
from awt.errors import InputError
from awt.keys import generator

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Indices into the source, shuffled, so that any first few are a fair sample of a source sorted by class.

    `test` points into the data set's own test set, in its order, where it has one.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def stratified_split(labels: np.ndarray, classes: int, own_test: int | None, data: Data) -> Split:
    """Divides the points that have these labels; `own_test` is the size of the data set's own test set."""
    counts = np.bincount(labels, minlength=classes)
    sizes = _sizes(len(labels), own_test, data)
    _check_sizes(counts, sizes, data)

    def ranks(part: str) -> np.ndarray:
        return generator(data.seed, "split", "ties", part).permutation(len(counts))

    test = _share(counts, sizes["test"], 1 + (sizes["validation"] > 0), ranks("test"))
    validation = _share(counts - test, sizes["validation"], 1, ranks("validation"))
    left = counts - test - validation
    train = _share(left, min(data.train_limit or sizes["train"], sizes["train"]), 0, ranks("train"))

    parts = _draw(labels, {"test": test, "validation": validation, "train": train}, data.seed)
    if own_test is not None:
        parts["test"] = np.arange(own_test)
    return Split(**parts)


def apportion(counts: np.ndarray, total: int, lowest: np.ndarray, highest: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """`total` points shared out in proportion to `counts` by largest remainder, within bounds per class.

    Ties go by `ranks`, for otherwise the first classes would get every odd point. In integers, hence exact.
    """
    size = max(int(counts.sum()), 1)
    chosen: np.ndarray = np.clip(counts * total // size, lowest, highest)
    while (gap := total - int(chosen.sum())) != 0:
        step = 1 if gap > 0 else -1
        free = chosen < highest if gap > 0 else chosen > lowest
        deficit = step * (counts * total - chosen * size)
        candidates = np.flatnonzero(free)
        chosen[max(candidates, key=lambda c: (deficit[c], ranks[c]))] += step
    return chosen


def _share(counts: np.ndarray, total: int, later: int, ranks: np.ndarray) -> np.ndarray:
    """One part's points per class: one of each at least, and one left per later part, where they suffice."""
    classes = len(counts)
    spare = min(later, (int(counts.sum()) - total) // classes)
    highest = counts - np.minimum(counts, spare)
    lowest = np.minimum(highest, int(total >= classes))
    return apportion(counts, total, lowest, highest, ranks)


def _draw(labels: np.ndarray, shares: dict[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Takes each part's share of a class in turn, from an order of that class that the seed decides."""
    drawn: dict[str, list[np.ndarray]] = {part: [] for part in shares}
    for label in range(len(shares["train"])):
        points = generator(seed, "split", label).permutation(np.flatnonzero(labels == label))
        start = 0
        for part, share in shares.items():
            drawn[part].append(points[start : start + share[label]])
            start += share[label]
    return {
        part: generator(seed, "split", "order", part).permutation(np.concatenate(points))
        for part, points in drawn.items()
    }


def _sizes(points: int, own_test: int | None, data: Data) -> dict[str, int]:
    """Points of each part; a share that was asked for is at least one point."""
    test = max(1, round(data.test_share * points)) if own_test is None else 0
    validation = max(1, round(data.validation_share * (points - test))) if data.validation_share > 0 else 0
    return {"train": points - test - validation, "validation": validation, "test": test}


def _check_sizes(counts: np.ndarray, sizes: dict[str, int], data: Data) -> None:
    asked = f"data.validation_share {data.validation_share}" + (
        f" and data.test_share {data.test_share}" if sizes["test"] else ""
    )
    if sizes["train"] < 1:
        raise InputError(
            f"data set {data.name}: {asked} leave none of its {counts.sum()} points for training; "
            f"hold out a smaller share"
        )
    parts = [part for part in PARTS if sizes[part]]
    scarce = int(counts.argmin())
    if counts[scarce] < len(parts):
        raise InputError(
            f"data set {data.name}: class {scarce} has {counts[scarce]} point(s), too few to split into "
            f"{', '.join(parts)} ({asked}); every class needs at least {len(parts)}"
        )
