"""What a kernel predicts: kernel regression, and training by gradient flow on the squared loss, in closed form.

A kernel is [n, n'] where it is the same for every class (an infinite-width kernel; the class trace of a network's
tangent kernel over the number of classes), or [n, n', k, k], the whole tangent kernel. The Gram matrices of the points
trained on are ill-conditioned, so everything is computed in double precision.
"""

import math
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike

from awt.errors import InputError
from awt.kernels._neural_tangents import flow
from awt.kernels.tiles import asymmetry, is_symmetric


class Outputs(NamedTuple):
    """On the points trained on, [n, k], and on others, [m, k]."""

    train: np.ndarray
    test: np.ndarray


def kernel_regression(gram: ArrayLike, targets: ArrayLike, cross: ArrayLike, ridge: float) -> np.ndarray:
    """cross (gram + ridge · 1)⁻¹ targets: the outputs at other points, [m, k].

    Args:
      gram: the kernel of the points trained on, [n, n] or [n, n, k, k].
      targets: of the points trained on, [n, k].
      cross: the kernel between other points and those trained on, [m, n] or [m, n, k, k].
      ridge: added to the diagonal of gram, in its own units.
    """
    if not ridge >= 0 or math.isinf(ridge):
        raise InputError(f"ridge: {ridge} cannot be added to a kernel; it should be 0 or a positive number")
    return _outputs(gram, targets, cross, math.inf, None, None, ridge).test


def gradient_flow(
    gram: ArrayLike,
    targets: ArrayLike,
    cross: ArrayLike,
    time: float,
    initial: ArrayLike | None = None,
    initial_test: ArrayLike | None = None,
) -> Outputs:
    """The outputs at a time of ∂f/∂t = −Θ (f − targets), gradient flow on ½‖f − targets‖² under a constant kernel Θ.

    Args:
      gram: Θ of the points trained on, [n, n] or [n, n, k, k].
      targets: of the points trained on, [n, k].
      cross: Θ between other points and those trained on, [m, n] or [m, n, k, k].
      time: from 0; `math.inf` for the end of training, which needs an invertible Gram matrix.
      initial: outputs at time 0 on the points trained on, [n, k]; zero without.
      initial_test: outputs at time 0 on the other points, [m, k]; zero without.
    """
    if not time >= 0:
        raise InputError(f"time: {time} is before the start; it should be 0 or more, math.inf for the end of training")
    return _outputs(gram, targets, cross, time, initial, initial_test, ridge=0.0)


def _outputs(
    gram: ArrayLike,
    targets: ArrayLike,
    cross: ArrayLike,
    time: float,
    initial: ArrayLike | None,
    initial_test: ArrayLike | None,
    ridge: float,
) -> Outputs:
    kernel, y, between = (np.asarray(array, np.float64) for array in (gram, targets, cross))
    _check_shapes(kernel, y, between)
    _check_symmetry(kernel)
    start, start_test = (
        _start(values, (points, y.shape[1]), name)
        for values, points, name in [(initial, len(y), "initial"), (initial_test, len(between), "initial_test")]
    )
    if math.isinf(time) and not _is_invertible(kernel, ridge):
        raise InputError(
            f"gram: not positive definite in double precision, with a ridge of {ridge:g}; "
            "leave out repeated points, or use kernel regression with a larger ridge"
        )
    with jax.enable_x64(True):
        predict = flow(kernel, y, ridge)
        train, test = predict(None if math.isinf(time) else time, start, start_test, between)
        outputs = Outputs(np.asarray(train), np.asarray(test))
    if not all(np.isfinite(part).all() for part in outputs):
        raise InputError("gram: has an eigenvalue of exactly 0, or an input is not finite; leave out such points")
    return outputs


def _check_shapes(gram: np.ndarray, targets: np.ndarray, cross: np.ndarray) -> None:
    if targets.ndim != 2 or not targets.size:
        raise InputError(f"targets: shape {list(targets.shape)}; it should be [n, k], a row for each point trained on")
    n, k = targets.shape
    allowed = {2: [n, n], 4: [n, n, k, k]}
    if list(gram.shape) not in allowed.values():
        raise InputError(
            f"gram: shape {list(gram.shape)} does not fit targets of shape {[n, k]}; "
            f"it should be {allowed[2]}, or {allowed[4]} for a kernel that differs by class"
        )
    expected = [len(cross) if cross.ndim else 0, *allowed[gram.ndim][1:]]
    if list(cross.shape) != expected or not len(cross):
        raise InputError(
            f"cross: shape {list(cross.shape)} does not fit gram of shape {list(gram.shape)}; "
            f"it should be [m, {', '.join(map(str, expected[1:]))}], a row for each point to predict"
        )


def _check_symmetry(gram: np.ndarray) -> None:
    if not is_symmetric(gram):
        raise InputError(
            f"gram: not symmetric (by up to {asymmetry(gram):.3g}), or not finite; "
            "it should be the kernel of the points trained on with themselves"
        )


def _is_invertible(gram: np.ndarray, ridge: float) -> bool:
    """Whether the pivots of its Cholesky factor are more than rounding errors, which pass for an inverse otherwise."""
    side = math.isqrt(gram.size)
    matrix = gram if gram.ndim == 2 else gram.transpose(0, 2, 1, 3).reshape(side, side)
    try:
        pivots = np.diag(np.linalg.cholesky(matrix + ridge * np.eye(side))) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > side * np.finfo(np.float64).eps * pivots.max())


def _start(values: ArrayLike | None, shape: tuple[int, int], name: str) -> np.ndarray:
    array = np.zeros(shape) if values is None else np.asarray(values, np.float64)
    if array.shape != shape:
        raise InputError(f"{name}: shape {list(array.shape)}; it should be {list(shape)}, as the outputs predicted")
    return array
