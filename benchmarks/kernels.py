"""Exact kernels and kernel-distance gradients, ours against neural-tangents' on the same functions.

Each comparison runs in a process of its own, ours, the rival and a matrix product in turn, so that ratios hold on a
noisy machine and a rival that runs out of memory costs only its own comparison. The last line printed is JSON:
speed-ups are the rival's median time ÷ ours, against its fastest implementation, at the worst density.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

MEMORY_GB = 16  # a rival that needs more counts as null
MINUTES = 15  # and so does one that takes longer
DENSITIES = (0.018, 0.17, 0.5)
BATCH = {"mlp": 64, "cnn": 16}
PROBES = 2
TURN = 0.5  # seconds that a contender's turn lasts at least
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
            rows = found[case, implementation] = in_own_process(case, implementation, arguments.rounds)
            show(case, implementation, rows)
    print(json.dumps(summary(found)))


def in_own_process(case: str, implementation: int, rounds: int) -> list[dict[str, Any]] | None:
    """The rows of a comparison, or None when it did not fit in memory or time."""
    words = [sys.executable, __file__, "--rounds", str(rounds), "--case", case, str(implementation)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if done.returncode < 0 or "RESOURCE_EXHAUSTED" in done.stderr or "MemoryError" in done.stderr:
        return None
    raise SystemExit(f"{case}: {done.stderr}")


def show(case: str, implementation: int, rows: list[dict[str, Any]] | None) -> None:
    rival = NAMES[implementation]
    if rows is None:
        print(f"{case:14}{rival:>24}   null: more than {MEMORY_GB} GB or {MINUTES} minutes", flush=True)
    for row in rows or ():
        density = "–" if row["density"] is None else f"{row['density']:g}"
        print(
            f"{case:14}{rival:>24}{density:>9}{1e3 * row['rival']:11.1f}{1e3 * row['ours']:10.1f}"
            f"{row['rival'] / row['ours']:10.2f}{row['gemm_share']:9.0%}",
            flush=True,
        )


NAMES = {1: "Jacobian contraction", 2: "NTK-vector products", 3: "structured derivatives"}


def summary(found: dict[tuple[str, int], list[dict[str, Any]] | None]) -> dict[str, float | None]:
    def speedup(case: str) -> float | None:
        """Over the fastest rival, at the worst density; None when no rival ran."""
        ratios = [row["rival"] / row["ours"] for i in NAMES for row in found[case, i] or ()]
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
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_GB * 10**9,) * 2)
    import jax
    import jax.numpy as jnp
    import numpy as np

    from awt.kernels._neural_tangents import empirical_ntk
    from awt.kernels.estimators import Full, Masked, Probe, squared_distances
    from awt.kernels.exact import tangent_kernel
    from awt.models.network import Network
    from awt.models.zoo import cnn, mlp
    from awt.runtime import memory

    memory.keep()  # as awt's processes do; the rival gains as well
    name, kind = case.split()
    n = BATCH[name]
    layers = mlp((28, 28, 1), (300, 100), 10, "glorot") if name == "mlp" else cnn((28, 28, 1), (32, 64, 1024), 10, "he")
    network = Network(tuple(layers))
    rng = np.random.default_rng(0)
    weights = network.initialise(0)
    x, other = (jnp.asarray(rng.random((n, 28, 28, 1)), jnp.float32) for _ in range(2))

    def rival_kernel(weights: Any, mask: Any) -> jax.Array:
        return empirical_ntk(rival_function(network, mask), implementation)(weights, x, other)

    if kind == "probe":
        dense = Masked(network, weights)
        views = {chosen: chosen.views(dense, x, other, jax.random.key(0)) for chosen in (Probe(PROBES), Full())}

        def our_loss(weights: Any, mask: Any) -> jax.Array:
            subject = Masked(network, weights, mask)
            found = Probe(PROBES).views(subject, x, other, jax.random.key(0))
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
        times = in_turn(contenders, rounds)
        rate = flops(network, n, masked=mask is not None) / times[1]
        share = rate / (2 * side**3 / times[0])
        rows.append({"density": density, "ours": times[1], "rival": times[2], "gemm_share": share})
    return rows


def in_turn(contenders: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Median seconds of each, after one run apart that compiles; a turn of a fast one is several runs."""
    import jax

    for contender in contenders:
        jax.block_until_ready(contender())
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, found in zip(contenders, times, strict=True):
            runs, began = 0, time.perf_counter()
            while not runs or time.perf_counter() - began < TURN:
                jax.block_until_ready(contender())
                runs += 1
            found.append((time.perf_counter() - began) / runs)
    return [statistics.median(found) for found in times]


def rival_function(network: Any, mask: Any) -> Callable[[Any, Any], Any]:
    """The same function as neural-tangents takes it best: library convolutions and pooling, masks as products."""
    import jax

    from awt.models.layers import Conv, MaxPool

    def function(weights: Any, x: Any) -> Any:
        for layer in network.layers:
            if hasattr(layer, "name"):
                own = weights[layer.name]
                if mask is not None:
                    own = own | {"kernel": own["kernel"] * mask[layer.name]}
                x = (layer.convolve if isinstance(layer, Conv) else layer.apply)(own, x)
            elif isinstance(layer, MaxPool):
                x = jax.lax.reduce_window(x, -float("inf"), jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            else:
                x = layer(x)
        return x

    return function


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
