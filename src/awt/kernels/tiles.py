"""A Gram matrix cut into tiles: which there are, and how they are put together again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from awt.artifacts import FORMAT_VERSION


@dataclass(frozen=True, order=True)
class Tile:
    """Rows and columns of a tile, as half-open ranges."""

    rows: tuple[int, int]
    columns: tuple[int, int]

    @property
    def name(self) -> str:
        return f"tile-{self.rows[0]:06d}-{self.columns[0]:06d}.npy"


def symmetric_tiles(points: int, side: int) -> Iterator[Tile]:
    """The tiles on and above the diagonal of a symmetric Gram matrix; the last ones are ragged."""
    ranges = [(start, min(start + side, points)) for start in range(0, points, side)]
    for i, rows in enumerate(ranges):
        for columns in ranges[i:]:
            yield Tile(rows, columns)


def index(points: int, side: int) -> dict[str, Any]:
    """What is written beside the tiles, so that a reader knows what they are."""
    tiles = [
        {"file": tile.name, "rows": list(tile.rows), "columns": list(tile.columns)}
        for tile in symmetric_tiles(points, side)
    ]
    return {"format_version": FORMAT_VERSION, "points": points, "symmetric": True, "tiles": tiles}


def assemble(points: int, tiles: Mapping[Tile, np.ndarray]) -> np.ndarray:
    """The whole symmetric matrix of its upper tiles."""
    gram = np.zeros((points, points), np.float64)
    for tile, block in tiles.items():
        rows, columns = slice(*tile.rows), slice(*tile.columns)
        gram[rows, columns] = block
        gram[columns, rows] = block.T
    return gram


def spectrum(gram: np.ndarray) -> np.ndarray:
    """Eigenvalues of a symmetric Gram matrix, largest first."""
    with threadpool_limits(1):  # the last bits depend on the number of threads
        return np.linalg.eigvalsh(gram)[::-1]
