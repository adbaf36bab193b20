"""What a Gram matrix is like: its spectrum, how far it is from another, how it lies to the targets. All in float64."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from threadpoolctl import threadpool_limits

from awt.errors import InputError, WorkError
from awt.kernels.tiles import Gram, as_matrix

DENSE_ORDER = 2048  # of the largest matrix whose whole spectrum is computed
TOP = 10


P = ParamSpec("P")
T = TypeVar("T")


def _one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The last bits of sums depend on the number of BLAS's threads."""
    limited: Callable[P, T] = threadpool_limits.wrap(limits=1)(function)
    return limited


class Effort(NamedTuple):
    """How hard Lanczos iterations try: relative tolerance, size of the Krylov space, restarts."""

    tolerance: float
    vectors: int
    restarts: int | None


_LARGEST = Effort(1e-10, 20, None)
# the lower end of a spectrum is crowded: a larger space, a tolerance near single precision's noise, and no endless try
_SMALLEST = Effort(1e-8, 64, 2)


class Spectrum(NamedTuple):
    """Eigenvalues, largest first: all of them, or the top ones; and the smallest, nan where it was not found."""

    values: np.ndarray
    smallest: float


@_one_thread
def distance(one: Gram, other: Gram) -> float:
    """1 − ⟨A, B⟩ / (‖A‖ ‖B‖)."""
    return 1.0 - _cosine(one, other)


@_one_thread
def polar(gram: Gram, initial: Gram) -> tuple[float, float]:
    """Where a kernel has moved to from its start: ‖A‖ / ‖A₀‖, and the angle between the two, in radians."""
    return _ratio(gram.norm(), initial.norm()), math.acos(_cosine(gram, initial))


@_one_thread
def spectrum(gram: Gram, top: int = TOP, dense_order: int = DENSE_ORDER, smallest: bool = True) -> Spectrum:
    """The eigenvalues of a symmetric Gram matrix: all of a small one, of a large one the top ones by Lanczos.

    The smallest of a large one is found at the other end; where it does not stand out enough to converge it is nan.
    """
    if not gram.index.symmetric:
        raise InputError(f"{gram.folder}: eigenvalues are of a symmetric Gram matrix, not of one between two sets")
    if gram.order <= max(dense_order, top + 1):
        values = np.linalg.eigvalsh(as_matrix(gram.dense()))[::-1]
        return Spectrum(values, float(values[-1]))
    values = _lanczos(partial(_times, gram), gram.order, top)
    return Spectrum(values, _smallest(gram, float(values[0])) if smallest else math.nan)


@_one_thread
def largest(gram: Gram, dense_order: int = DENSE_ORDER) -> float:
    """λ_max of a symmetric Gram matrix, the largest singular value of any other: the spectral norm."""
    if gram.index.symmetric:
        return float(spectrum(gram, 1, dense_order, smallest=False).values[0])
    inputs = gram.index.columns * gram.index.width
    if min(gram.order, inputs) <= 2 or max(gram.order, inputs) <= dense_order:
        return float(np.linalg.norm(as_matrix(gram.dense()), 2))

    def squared(vector: np.ndarray) -> np.ndarray:
        image = _times(gram, vector).reshape(gram.index.vector_shape(gram.index.rows))
        return (image @ gram).ravel()

    return math.sqrt(float(_lanczos(squared, inputs, 1)[0]))


@_one_thread
def alignment(gram: Gram, labels: np.ndarray) -> float:
    """The cosine ⟨K, YYᵀ⟩ / (‖K‖ ‖YYᵀ‖) between the kernel and the targets' own.

    Y are one-hot labels minus their mean over the points. With a full kernel, whose entries join outputs of points,
    YYᵀ is that of Y as one vector of n·k entries; with a class-traced one, of Y as an [n, k] matrix.
    """
    points, classes = gram.index.rows, gram.index.classes
    if not gram.index.symmetric:
        raise InputError(f"{gram.folder}: the alignment is of a symmetric Gram matrix, not of one between two sets")
    if np.shape(labels) != (points,) or min(labels) < 0 or max(labels) >= classes:
        raise InputError(f"{gram.folder}: the alignment takes {points} labels, one a point, of 0..{classes - 1}")
    targets = np.eye(classes)[labels]
    targets -= targets.mean(axis=0)
    if gram.index.shape == "full":
        return _ratio(float(np.vdot(targets, gram @ targets)), gram.norm() * float(np.vdot(targets, targets)))
    inner = math.fsum(float(column @ (gram @ column)) for column in targets.T)
    return _ratio(inner, gram.norm() * float(np.linalg.norm(targets.T @ targets)))


@_one_thread
def figures(
    gram: Gram,
    labels: np.ndarray | None = None,
    initial: Gram | None = None,
    top: int = TOP,
    dense_order: int = DENSE_ORDER,
) -> dict[str, float]:
    """All figures of a symmetric Gram matrix.

    Args:
      labels: of its points, for the alignment.
      initial: the Gram matrix to measure distance, radius and angle from.
      top: of how many eigenvalues the concentration is the share of the trace.
    """
    found = spectrum(gram, top, dense_order)
    trace, highest = gram.trace(), float(found.values[0])
    result = {
        "trace": trace,
        "norm": gram.norm(),
        "lambda_max": highest,
        "lambda_min": found.smallest,
        "condition": _condition(highest, found.smallest),
        "concentration": _ratio(math.fsum(found.values[:top]), trace),
    }
    if labels is not None:
        result["alignment"] = alignment(gram, labels)
    if initial is not None:
        result["distance"] = distance(gram, initial)
        result["radius"], result["angle"] = polar(gram, initial)
    return result


def _condition(highest: float, smallest: float) -> float:
    """λ_max / λ_min; infinite for a singular matrix, nan where λ_min was not found."""
    return math.inf if smallest <= 0 else highest / smallest


def _cosine(one: Gram, other: Gram) -> float:
    cosine = _ratio(one.inner(other), one.norm() * other.norm())
    return min(1.0, max(-1.0, cosine)) if math.isfinite(cosine) else math.nan  # rounding leads beyond


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _smallest(gram: Gram, highest: float) -> float:
    """λ_max minus the largest eigenvalue of λ_max − A, so that the tolerance is one of λ_max."""

    def flipped(vector: np.ndarray) -> np.ndarray:
        return highest * vector - _times(gram, vector)

    try:
        return highest - float(_lanczos(flipped, gram.order, 1, _SMALLEST)[0])
    except WorkError:
        return math.nan


def _times(gram: Gram, vector: np.ndarray) -> np.ndarray:
    return (gram @ vector.reshape(gram.index.vector_shape(gram.index.columns))).ravel()


def _lanczos(
    times: Callable[[np.ndarray], np.ndarray], order: int, count: int, effort: Effort = _LARGEST
) -> np.ndarray:
    """The largest eigenvalues of a symmetric operator, largest first; the same ones every time."""
    rng = np.random.default_rng(0)
    operator = LinearOperator((order, order), matvec=times, dtype=np.float64)
    space = min(order, max(effort.vectors, 2 * count + 1))
    options = {"which": "LA", "tol": effort.tolerance, "ncv": space, "maxiter": effort.restarts}
    try:
        values = eigsh(operator, count, v0=rng.normal(size=order), rng=rng, return_eigenvectors=False, **options)
    except ArpackError as error:
        raise WorkError(f"Lanczos iterations found no eigenvalues: {error}") from None
    return np.sort(values)[::-1]
