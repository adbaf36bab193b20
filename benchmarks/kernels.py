"""Exact kernels and kernel-distance gradients, ours against neural-tangents' on the same functions.

Each comparison runs in a process of its own, ours, the rival and a matrix product in turn, so that ratios hold on a
noisy machine and a rival that runs out of memory costs only its own comparison. The last line printed is JSON:
speed-ups are the rival's time ÷ ours, the median over the rounds, of its fastest implementation at the worst density.
"""

import argparse
import json
import math
import statistics
from functools import partial
from typing import Any

from sidebyside import MEMORY_GB, MINUTES, in_own_process, in_turn, limit_memory, rival_function

DENSITIES = (0.018, 0.17, 0.5)
BATCH = {"mlp": 64, "cnn": 16}
PROBES = 2
CASES = ["mlp unmasked", "mlp masked", "cnn unmasked", "cnn masked", "cnn probe"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="times that each contender runs (default: 5)")
    parser.add_argument("--case", nargs=2, metavar=("CASE", "IMPLEMENTATION"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(compare(arguments.case[0], int(arguments.case[1]), arguments.rounds)))
        return
    found = {}
    print(f"{'case':14}{'rival':>24}{'density':>9}{'rival ms':>11}{'ours ms':>10}{'speed-up':>10}{'of GEMM':>9}")
    for case in CASES:
        for implementation in (1, 2, 3):
            words = ["--rounds", str(arguments.rounds), "--case", case, str(implementation)]
            rows = found[case, implementation] = in_own_process(__file__, words)
            show(case, implementation, rows)
    print(json.dumps(summary(found)))


def show(case: str, implementation: int, rows: list[dict[str, Any]] | None) -> None:
    rival = NAMES[implementation]
    if rows is None:
        print(f"{case:14}{rival:>24}   null: more than {MEMORY_GB} GB or {MINUTES} minutes", flush=True)
    for row in rows or ():
        density = "–" if row["density"] is None else f"{row['density']:g}"
        print(
            f"{case:14}{rival:>24}{density:>9}{1e3 * row['rival']:11.1f}{1e3 * row['ours']:10.1f}"
            f"{row['speedup']:10.2f}{row['gemm_share']:9.0%}",
            flush=True,
        )


NAMES = {1: "Jacobian contraction", 2: "NTK-vector products", 3: "structured derivatives"}


def summary(found: dict[tuple[str, int], list[dict[str, Any]] | None]) -> dict[str, float | None]:
    def speedup(case: str) -> float | None:
        """Over the fastest rival, at the worst density; None when no rival ran."""
        ratios = [row["speedup"] for i in NAMES for row in found[case, i] or ()]
        return round(min(ratios), 2) if ratios else None

    def share(case: str) -> float | None:
        shares = [row["gemm_share"] for i in NAMES for row in found[case, i] or ()]
        return round(statistics.median(shares), 3) if shares else None

    unmasked = [value for case in ("mlp unmasked", "cnn unmasked") if (value := speedup(case)) is not None]
    shares = {case: share(case) for case in CASES if case != "cnn probe"}
    return {
        "masked_mlp_speedup": speedup("mlp masked"),
        "masked_cnn_speedup": speedup("cnn masked"),
        "unmasked_speedup": min(unmasked),
        "probe_cnn_speedup": speedup("cnn probe"),
        "gemm_share": min(value for value in shares.values() if value is not None),
        **{f"gemm_share_{case.replace(' ', '_')}": value for case, value in shares.items()},
    }


def compare(case: str, implementation: int, rounds: int) -> list[dict[str, Any]]:
    """Ours, one implementation of the rival's, and a matrix product, in turn."""
    limit_memory()
    import jax
    import jax.numpy as jnp
    import numpy as np

    from awt.kernels._neural_tangents import empirical_ntk
    from awt.kernels.estimators import Full, Masked, Probe, squared_distances
    from awt.kernels.exact import tangent_kernel
    from awt.models.cnn import cnn
    from awt.models.mlp import mlp
    from awt.models.network import Network
    from awt.runtime import memory

    memory.keep()  # as awt's processes do; the rival gains as well
    name, kind = case.split()
    n = BATCH[name]
    if kind == "probe":
        rounds = min(rounds, 2)  # the rival's step takes 20 seconds
    layers = mlp((28, 28, 1), (300, 100), 10, "glorot") if name == "mlp" else cnn((28, 28, 1), (32, 64, 1024), 10, "he")
    network = Network(tuple(layers))
    rng = np.random.default_rng(0)
    weights = network.initialise(0)
    x, other = (jnp.asarray(rng.random((n, 28, 28, 1)), jnp.float32) for _ in range(2))

    def rival_kernel(weights: Any, mask: Any) -> jax.Array:
        return empirical_ntk(rival_function(network, mask), implementation)(weights, x, other)

    if kind == "probe":
        dense = Masked(network, weights)
        direction = jnp.zeros((n, 10))  # of which the probe needs the shape
        views = {
            chosen: chosen.views(dense, x, other, jax.random.key(0), direction) for chosen in (Probe(PROBES), Full())
        }

        def our_loss(weights: Any, mask: Any) -> jax.Array:
            subject = Masked(network, weights, mask)
            found = Probe(PROBES).views(subject, x, other, jax.random.key(0), direction)
            return squared_distances(found, views[Probe(PROBES)]).mean()

        def rival_loss(weights: Any, mask: Any) -> jax.Array:
            return jnp.sum((rival_kernel(weights, mask) - views[Full()][0]) ** 2)

        ours, rival = jax.jit(jax.grad(our_loss)), jax.jit(jax.grad(rival_loss))
    else:
        ours = jax.jit(lambda weights, mask: tangent_kernel(network, weights, x, other, mask))
        rival = jax.jit(rival_kernel)

    side = 2048
    square = jnp.asarray(rng.random((side, side)), jnp.float32)
    product = jax.jit(lambda square: square @ square)
    rows = []
    for density in (None,) if kind == "unmasked" else DENSITIES:
        mask = None
        if density is not None:
            mask = {name: jnp.asarray(rng.random(shape) < density) for name, shape in network.kernel_shapes.items()}
        contenders = [partial(product, square), partial(ours, weights, mask), partial(rival, weights, mask)]
        gemm, ours_times, rival_times = in_turn(contenders, rounds)
        work = flops(network, n, masked=mask is not None) / (2 * side**3)
        rows.append(
            {
                "density": density,
                "ours": statistics.median(ours_times),
                "rival": statistics.median(rival_times),
                "speedup": statistics.median(b / a for a, b in zip(ours_times, rival_times, strict=True)),
                "gemm_share": work * statistics.median(g / a for g, a in zip(gemm, ours_times, strict=True)),
            }
        )
    return rows


def flops(network: Any, n: int, masked: bool) -> float:
    """Floating-point operations of our full kernel of two sets of n points, the leading terms: passes forward and, for
    each output, back; per-example weight gradients of convolutions; the products of factors."""
    import jax
    import jax.numpy as jnp

    from awt.models.layers import Conv

    weights = jax.eval_shape(lambda: network.initialise(0))
    x = jax.ShapeDtypeStruct((n, 28, 28, 1), jnp.float32)
    features = jax.eval_shape(lambda weights, x: network.tapped(weights, x, {})[1], weights, x)
    k = network.weighted[-1].units
    total = 0.0
    for number, layer in enumerate(network.weighted):
        shape = features[layer.name].shape
        pooled = len(shape) == 5
        inputs = math.prod(layer.kernel_shape[:-1])
        applied = 2.0 * inputs * layer.units * math.prod(shape[1:3] if isinstance(layer, Conv) else ())
        forward, gradients = (4 if pooled else 1), (k if isinstance(layer, Conv) else 0)
        total += 2 * n * applied * (forward + gradients + (k if number else 0))
        if isinstance(layer, Conv):
            total += 2.0 * (n * k) ** 2 * inputs * layer.units
        else:
            total += 2.0 * n**2 * inputs * (layer.units if masked else 1) + 2.0 * (n * k) ** 2 * layer.units
    return total


if __name__ == "__main__":
    main()
