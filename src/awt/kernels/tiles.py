"""A Gram matrix cut into tiles: which there are, what is written beside them, and how they are read back."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from awt.artifacts import read_json
from awt.errors import InputError

GRAM_FORMAT = 2
INDEX = "index.json"
DTYPE = np.dtype("<f4")
ASYMMETRY = 1e-4  # relative to the largest entry: what single precision leaves, and a mixed kernel far exceeds

Shape = Literal["full", "trace"]
Range = tuple[int, int]  # half-open

_SLICE = 2**20  # values of a tile in float64 at a time


@dataclass(frozen=True, order=True)
class Tile:
    """Rows and columns of a tile, as half-open ranges of points."""

    rows: Range
    columns: Range

    @property
    def name(self) -> str:
        return f"tile-{self.rows[0]:06d}-{self.columns[0]:06d}.npy"


@dataclass(frozen=True)
class Index:
    """What a Gram matrix is and how it is cut: `rows` × `columns` points in tiles of a side, the last ones ragged.

    A symmetric one, of one set of points, has only the tiles on and above the diagonal. Its shape is "full",
    [n, n', k, k], or "trace", [n, n'], the trace over the k classes. `about` says of which network and points it is.
    """

    rows: int
    columns: int
    side: int
    symmetric: bool
    shape: Shape
    classes: int
    about: Mapping[str, Any] = field(default_factory=dict)

    def tiles(self) -> Iterator[Tile]:
        down, across = _ranges(self.rows, self.side), _ranges(self.columns, self.side)
        for number, rows in enumerate(down):
            for columns in across[number if self.symmetric else 0 :]:
                yield Tile(rows, columns)

    def block_shape(self, rows: Range, columns: Range) -> tuple[int, ...]:
        outputs = (self.classes, self.classes) if self.shape == "full" else ()
        return (rows[1] - rows[0], columns[1] - columns[0], *outputs)

    def vector_shape(self, points: int) -> tuple[int, ...]:
        """Of what the matrix acts on: one number a point, or one a point and class."""
        return (points, self.classes) if self.shape == "full" else (points,)

    @property
    def width(self) -> int:
        """Entries of a vector that belong to one point."""
        return self.classes if self.shape == "full" else 1

    def as_json(self) -> dict[str, Any]:
        tiles = [{"file": tile.name, "rows": list(tile.rows), "columns": list(tile.columns)} for tile in self.tiles()]
        fields = {name: getattr(self, name) for name in _FIELDS}
        return {**fields, "format_version": GRAM_FORMAT, "dtype": DTYPE.name, "about": dict(self.about), "tiles": tiles}

    @classmethod
    def of(cls, value: Any, source: str) -> "Index":
        """The index of its JSON form; `source` names it in errors."""
        version = value.get("format_version") if isinstance(value, dict) else None
        if version != GRAM_FORMAT:
            raise InputError(f"{source}: format version {version}; this code reads {GRAM_FORMAT}: compute it again")
        try:
            index = cls(**{name: value[name] for name in (*_FIELDS, "about")})
            right = _is_possible(index) and value == index.as_json()
        except (KeyError, TypeError, AttributeError):
            right = False
        if not right:
            raise InputError(f"{source}: not the index of a Gram matrix, or damaged: compute it again")
        return index


_FIELDS = ("rows", "columns", "side", "symmetric", "shape", "classes")


def _is_possible(index: Index) -> bool:
    counts = (index.rows, index.columns, index.side, index.classes)
    return (
        all(type(count) is int and count >= 1 for count in counts)
        and type(index.symmetric) is bool
        and index.shape in get_args(Shape)
        and (index.rows == index.columns or not index.symmetric)
    )


def _ranges(points: int, side: int) -> list[Range]:
    return [(start, min(start + side, points)) for start in range(0, points, side)]


def transposed(block: np.ndarray) -> np.ndarray:
    """Θ(x', x) of a block Θ(x, x')."""
    return block.transpose(1, 0, 3, 2) if block.ndim == 4 else block.T


def as_matrix(block: np.ndarray) -> np.ndarray:
    """A block as a float64 matrix, of a full one [n·k, n'·k]; a vector's order is [n', k] accordingly."""
    if block.ndim == 2:
        return np.asarray(block, np.float64)
    n, other, k, l = block.shape
    return np.ascontiguousarray(block.transpose(0, 2, 1, 3), np.float64).reshape(n * k, other * l)


def asymmetry(block: np.ndarray) -> float:
    """The largest difference between a square block and its transpose."""
    return float(np.abs(block - transposed(block)).max())


def is_symmetric(block: np.ndarray) -> bool:
    """Whether a kernel is that of one set of points, up to rounding."""
    return block.shape[0] == block.shape[1] and asymmetry(block) <= ASYMMETRY * float(np.abs(block).max())


class Slice(NamedTuple):
    """Some rows of a tile, as a matrix; `mirrored` where its transpose is part of the Gram matrix as well."""

    rows: slice
    columns: slice
    matrix: np.ndarray
    mirrored: bool


class Gram:
    """A Gram matrix in a folder: an operator that has only a slice of a tile in memory, and any block on demand."""

    __array_ufunc__ = None  # so that numpy leaves `vector @ gram` to this class
    dtype = DTYPE

    def __init__(self, folder: Path) -> None:
        """Opens a folder; its index and the form of every tile are checked."""
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder with a Gram matrix: `awt gram` makes one")
        index = Index.of(read_json(folder / INDEX), str(folder / INDEX))
        self._open(folder, index, {tile.name: folder / tile.name for tile in index.tiles()})

    @classmethod
    def of(cls, index: Index, paths: Mapping[str, Path]) -> "Gram":
        """Of an index, and the paths of its tiles by their names."""
        gram = cls.__new__(cls)
        gram._open(next(iter(paths.values())).parent, index, paths)
        return gram

    def _open(self, folder: Path, index: Index, paths: Mapping[str, Path]) -> None:
        self.folder, self.index, self._paths = folder, index, dict(paths)
        for tile in self.index.tiles():
            self._load(tile)

    @property
    def order(self) -> int:
        """The rows of the matrix."""
        return self.index.rows * self.index.width

    def tile(self, i: int, j: int) -> np.ndarray:
        """The tile in row i and column j of tiles, read-only and from the disk."""
        below = self.index.symmetric and j < i
        rows, columns = _ranges(self.index.rows, self.index.side)[i], _ranges(self.index.columns, self.index.side)[j]
        return transposed(self._load(Tile(columns, rows))) if below else self._load(Tile(rows, columns))

    def block(self, rows: Range, columns: Range) -> np.ndarray:
        """Any part of it, [n, n', k, k] or [n, n'], put together from the tiles."""
        for name, (start, stop), points in (("rows", rows, self.index.rows), ("columns", columns, self.index.columns)):
            if not 0 <= start <= stop <= points:
                raise InputError(f"{self.folder}: {name} {start}..{stop} of a Gram matrix with {points}")
        found = np.empty(self.index.block_shape(rows, columns), self.dtype)
        for i, inner_rows, outer_rows in _pieces(rows, self.index.side):
            for j, inner_columns, outer_columns in _pieces(columns, self.index.side):
                found[outer_rows, outer_columns] = self.tile(i, j)[inner_rows, inner_columns]
        return found

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self.block((start, stop), (0, self.index.columns))

    def dense(self) -> np.ndarray:
        """The whole of it, in float64: for small ones."""
        return self.rows(0, self.index.rows).astype(np.float64)

    def __matmul__(self, vector: np.ndarray) -> np.ndarray:
        """Θv for v [n'], of a full one [n', k]; sums are in float64."""
        return self._product(vector, self.index.columns, self.index.rows, flipped=False)

    def __rmatmul__(self, vector: np.ndarray) -> np.ndarray:
        """vᵀΘ."""
        return self._product(vector, self.index.rows, self.index.columns, flipped=True)

    def trace(self) -> float:
        """Σ_i tr Θ(x_i, x'_i)."""
        if self.index.rows != self.index.columns:
            raise InputError(f"{self.folder}: no trace, since {self.index.rows} × {self.index.columns} is not square")
        axes = "iikk->" if self.index.shape == "full" else "ii->"
        tiles = range(len(_ranges(self.index.rows, self.index.side)))
        return math.fsum(float(np.einsum(axes, self.tile(i, i), dtype=np.float64)) for i in tiles)

    def norm(self) -> float:
        """The Frobenius norm."""
        squares = ((2 if part.mirrored else 1) * np.vdot(part.matrix, part.matrix) for part in self._slices())
        return math.sqrt(math.fsum(squares))

    def inner(self, other: "Gram") -> float:
        """⟨Θ, Θ'⟩, the Frobenius inner product of two Gram matrices of one form, however they are cut."""
        for name in ("rows", "columns", "shape", "classes"):
            mine, its = getattr(self.index, name), getattr(other.index, name)
            if mine != its:
                raise InputError(f"{self.folder} and {other.folder} cannot be compared: {name} {mine} and {its}")
        return math.fsum(self._inner_parts(other))

    def _inner_parts(self, other: "Gram") -> Iterator[float]:
        for part in self._slices():
            inner = float(np.vdot(part.matrix, other._matrix(part.rows, part.columns)))
            yield inner
            if part.mirrored and other.index.symmetric:
                yield inner
            elif part.mirrored:
                yield float(np.vdot(part.matrix.T, other._matrix(part.columns, part.rows)))

    def _product(self, vector: np.ndarray, points: int, results: int, flipped: bool) -> np.ndarray:
        """Θv, or vᵀΘ if `flipped`."""
        width, wanted = self.index.width, self.index.vector_shape(points)
        if np.shape(vector) != wanted:
            raise InputError(f"{self.folder}: takes vectors of shape {list(wanted)}, not {list(np.shape(vector))}")
        vector = np.asarray(vector, np.float64).reshape(points, width)
        product = np.zeros((results, width))
        for part in self._slices():
            for across in (flipped, not flipped) if part.mirrored else (flipped,):
                matrix, source, target = (
                    (part.matrix.T, part.rows, part.columns) if across else (part.matrix, part.columns, part.rows)
                )
                product[target] += (matrix @ vector[source].ravel()).reshape(-1, width)
        return product.reshape(self.index.vector_shape(results))

    def _slices(self) -> Iterator[Slice]:
        """The stored tiles, some rows at a time."""
        for tile in self.index.tiles():
            block = self._load(tile)
            step = max(1, _SLICE // math.prod(block.shape[1:]))
            mirrored = self.index.symmetric and tile.rows != tile.columns
            for start in range(0, len(block), step):
                rows = slice(tile.rows[0] + start, min(tile.rows[0] + start + step, tile.rows[1]))
                yield Slice(rows, slice(*tile.columns), as_matrix(block[start : start + step]), mirrored)

    def _matrix(self, rows: slice, columns: slice) -> np.ndarray:
        return as_matrix(self.block((rows.start, rows.stop), (columns.start, columns.stop)))

    def _load(self, tile: Tile) -> np.ndarray:
        path, wanted = self._paths[tile.name], self.index.block_shape(tile.rows, tile.columns)
        try:
            block = np.lib.format.open_memmap(path, mode="r")  # np.load, but for .npy alone; never unpickles
        except FileNotFoundError:
            raise InputError(f"{path} is missing: compute the Gram matrix again") from None
        except (ValueError, OSError, EOFError) as error:
            raise InputError(f"{path}: not a readable .npy of a plain array ({error})") from None
        if block.shape != wanted or block.dtype != DTYPE:
            raise InputError(f"{path}: not the tile of {DTYPE} {list(wanted)} that {INDEX} says: compute it again")
        return block


class HeldGram(Gram):
    """A Gram matrix in memory, under a name for errors; of one set of points where it is symmetric."""

    def __init__(self, kernel: np.ndarray, name: str, classes: int) -> None:
        rows, columns = kernel.shape[:2]
        shape: Shape = "full" if kernel.ndim == 4 else "trace"
        self.folder, self.dtype, self._kernel = Path(name), kernel.dtype, kernel
        self.index = Index(rows, columns, max(rows, columns), is_symmetric(kernel), shape, classes)

    def _load(self, tile: Tile) -> np.ndarray:
        return self._kernel[slice(*tile.rows), slice(*tile.columns)]


def _pieces(points: Range, side: int) -> Iterator[tuple[int, slice, slice]]:
    """The tiles that a range meets: each one's number, the range's part in it, and that part in the range."""
    for number in range(points[0] // side, -(-points[1] // side)):
        start, stop = max(points[0], number * side), min(points[1], (number + 1) * side)
        yield number, slice(start - number * side, stop - number * side), slice(start - points[0], stop - points[0])
