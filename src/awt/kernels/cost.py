"""Operations of tangent kernels, and of looking at them: see awt.kernels.exact and awt.kernels.estimators.

Nothing is sent back to the input of the network, so that the first layer, often most of it, costs less than the others.
"""

from awt.models.size import Problem


def product_flops(problem: Problem, probes: int, gradient: bool = False) -> float:
    """By point, of a kernel times vectors: two passes for all, and for each one back to the weights and one along them.

    With its gradient in the weights, all of it is gone back through."""
    first, *others = problem.size.layers
    total = first.forward * (2 + 2 * probes) * (2 if gradient else 1)
    return total + sum(layer.forward * (2 + 4 * probes) * (3 if gradient else 1) for layer in others)


def view_flops(estimator: str, probes: int, batch: int, problem: Problem, gradient: bool = False) -> float:
    """By point, of an estimator's look at a kernel on a batch."""
    if estimator in ("probe", "residual"):
        return product_flops(problem, probes if estimator == "probe" else 1, gradient)
    whole = estimator == "full"
    pairs = batch * pair_flops(problem, "full", True) if whole else pair_flops(problem, "trace", True)
    return (3 if gradient else 1) * (2 * factor_flops(problem) + pairs)


def factor_flops(problem: Problem) -> float:
    """By point: what layers saw, and what each output sends back to them; of convolutions, the weights' gradients."""
    total = 0.0
    for number, layer in enumerate(problem.size.layers):
        total += layer.forward * (1 + problem.classes * ((number > 0) + (not layer.is_dense)))
    return total


def pair_flops(problem: Problem, shape: str, masked: bool) -> float:
    """By pair of points."""
    outputs, total = problem.classes**2 if shape == "full" else problem.classes, 0.0
    for layer in problem.size.layers:
        if not layer.is_dense:
            total += 2.0 * outputs * layer.seen * layer.units
        elif masked:
            total += 2.0 * layer.seen * layer.units + 3.0 * outputs * layer.units
        else:
            total += 2.0 * layer.seen + 2.0 * outputs * layer.units
    return total
