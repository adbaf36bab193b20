"""neural-tangents on today's JAX: the only module that imports it.

Its last release (0.6.5) takes names from places where JAX 0.9 no longer has them, and its `experimental` sub-package
needs TensorFlow. Before the import, this module puts those names back, each only where it is missing, so that nothing
that JAX itself defines changes for anyone. The exact kernels of this package are tested against it; the infinite-width
kernels and their predictions are computed with it.
"""

import importlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.core
import jax.interpreters.ad
import jax.numpy as jnp
from jax._src import core, source_info_util, util

Gram = Callable[[Any, jax.Array, jax.Array], jax.Array]
StaxLayer = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
"""Three functions: of a layer's initial weights, of its outputs, and of its output kernel given its input kernel."""
AnalyticKernels = Callable[[Any, Any, int], tuple[jax.Array, jax.Array]]
"""(x, other, side) ↦ NTK and NNGP, [n, n'] each, computed in tiles of side × side."""
Flow = Callable[[float | None, Any, Any, Any], tuple[jax.Array, jax.Array]]
"""(time or None for its end, initial outputs on training and other points, kernel between other and training points)
↦ outputs on training and other points at that time."""

JACOBIAN_CONTRACTION, NTK_VECTOR_PRODUCTS, STRUCTURED_DERIVATIVES = IMPLEMENTATIONS = (1, 2, 3)


class _NoSuchShape:
    """Stands for `DShapedArray`, which JAX no longer has: no value is one."""


def _put_back(module: types.ModuleType, **names: Any) -> None:
    present = vars(module)  # not hasattr, which sets off JAX's deprecation warnings
    for name, value in names.items():
        if name not in present:
            setattr(module, name, value)


def _prepare() -> None:
    _put_back(
        jax.core,
        Jaxpr=core.Jaxpr,
        JaxprEqn=core.JaxprEqn,
        Literal=core.Literal,
        Var=core.Var,
        Value=core.Value,
        AbstractValue=core.AbstractValue,
        Primitive=core.Primitive,
        ShapedArray=core.ShapedArray,
        eval_context=core.eval_context,
        DShapedArray=_NoSuchShape,
        get_aval=jax.typeof,
    )
    _put_back(
        jax.interpreters.ad,
        source_info_util=source_info_util,
        config=jax.config,
        zeros_like_p=core.Primitive("zeros_like"),  # only a key in its table of rules: no program has it any more
    )
    sys.modules.setdefault("jax.util", util)
    experimental = "neural_tangents.experimental"
    sys.modules.setdefault(experimental, types.ModuleType(experimental))


_prepare()
neural_tangents = importlib.import_module("neural_tangents")
stax = neural_tangents.stax


def empirical_ntk(function: Callable[[Any, jax.Array], jax.Array], implementation: int) -> Gram:
    """(weights, x, other) ↦ Θ(x, other), [n, n', k, k], of a function of weights and points [n, …] to [n, k]."""
    kernel = neural_tangents.empirical_ntk_fn(
        function, trace_axes=(), diagonal_axes=(), vmap_axes=0, implementation=implementation
    )

    def gram(weights: Any, x: jax.Array, other: jax.Array) -> jax.Array:
        return kernel(x, other, weights)

    return gram


def analytic_kernels(layers: Iterable[StaxLayer]) -> AnalyticKernels:
    """Of infinitely wide layers in turn; the numbers of points must be multiples of the tiles' side."""
    _, _, kernel = stax.serial(*layers)

    def kernels(x: Any, other: Any, side: int) -> tuple[jax.Array, jax.Array]:
        ntk, nngp = neural_tangents.batch(kernel, side, device_count=0)(x, other, ("ntk", "nngp"))
        return ntk, nngp

    return kernels


def flow(gram: Any, targets: Any, ridge: float) -> Flow:
    """Gradient flow on ½‖f − targets‖² under a kernel [n, n], the same for every class, or [n, n, k, k].

    The ridge is added to the kernel's diagonal.
    """
    return neural_tangents.predict.gradient_descent_mse(
        jnp.asarray(gram),
        jnp.asarray(targets),
        learning_rate=float(targets.size),  # undoes its division of the loss by the number of outputs
        diag_reg=ridge,
        diag_reg_absolute_scale=True,
        trace_axes=(-1,) if gram.ndim == 2 else (),
    )
