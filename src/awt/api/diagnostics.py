"""What kernels are like: of arrays in memory and of Gram matrices in folders."""

import numpy as np
from numpy.typing import ArrayLike

from awt.errors import InputError
from awt.kernels import diagnostics
from awt.kernels.diagnostics import TOP, Spectrum
from awt.kernels.tiles import Gram, HeldGram

Kernel = ArrayLike | Gram


def kernel_distance(kernel: Kernel, other: Kernel) -> float:
    """How far two kernels are apart, whatever their scale: 1 − ⟨A, B⟩ / (‖A‖ ‖B‖)."""
    return diagnostics.distance(_gram(kernel, "kernel"), _gram(other, "other"))


def kernel_figures(
    kernel: Kernel, labels: ArrayLike | None = None, initial: Kernel | None = None, top: int = TOP
) -> dict[str, float]:
    """All figures of the kernel of one set of points: trace, norm, eigenvalues, condition, concentration.

    Args:
      kernel: [n, n] or [n, n, k, k], or a Gram matrix.
      labels: of its points, for `alignment`, the cosine between the kernel and that of the targets.
      initial: the kernel to measure `distance`, `radius` and `angle` from, such as that of the initial weights.
      top: of how many eigenvalues `concentration` is the share of the trace.
    """
    y = None if labels is None else np.asarray(labels)
    start = None if initial is None else _gram(initial, "initial", y)
    return diagnostics.figures(_gram(kernel, "kernel", y), y, start, top)


def spectrum(kernel: Kernel, top: int = TOP) -> Spectrum:
    """The eigenvalues of one set of points' kernel, largest first: all of a small one, of a large one the top ones.

    Returns: `values`, and the `smallest`, nan where it is not found.
    """
    return diagnostics.spectrum(_gram(kernel, "kernel"), top)


def _gram(kernel: Kernel, name: str, labels: np.ndarray | None = None) -> Gram:
    if isinstance(kernel, Gram):
        return kernel
    array = np.asarray(kernel)
    is_one = array.ndim == 2 or (array.ndim == 4 and array.shape[2] == array.shape[3])
    if not is_one or not array.size or array.dtype.kind not in "fiu":
        raise InputError(
            f"{name}: {array.dtype} {list(array.shape)}; it should be numbers, [n, n'] or [n, n', k, k], or an awt.Gram"
        )
    if not np.isfinite(array).all():
        raise InputError(f"{name}: not finite; the weights of its network may have diverged")
    held = array if array.dtype.kind == "f" else array.astype(np.float64)
    return HeldGram(held, name, array.shape[2] if array.ndim == 4 else _classes(labels))


def _classes(labels: np.ndarray | None) -> int:
    """As many as the labels name: a kernel [n, n] does not say."""
    return 1 if labels is None or not labels.size else int(labels.max()) + 1
