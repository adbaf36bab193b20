"""A step of the mask search, ours against the published recipe of Neural Tangent Transfer.

The rival computes, every step, the full kernels of the dense and of the sparse network by implicit contraction (as
neural-tangents' implementation 2 does), and the gradient of both distances. Ours has the dense side from the kernel
stage, and probes the sparse kernel (`probe`) or computes it whole (`full`). Natural points for both, batch 64, Adam and
all. With gradient, the CNN's whole kernel does not fit in 16 GB: the rival has it in 64 blocks, one after the other, of
the size that is fastest for it (of 2, 4 and 8 points), and as a step takes nine minutes, two of them are timed, and
count 32 times (with them its target distance, one forward and backward pass beside twenty seconds). The last line
printed is JSON: speed-ups are the rival's time ÷ ours; `density_cost_spread` is the slowest density ÷ the fastest, of
our step with its attack.
"""

import argparse
import itertools
import json
import statistics
from functools import partial
from typing import Any

from sidebyside import MEMORY_GB, MINUTES, in_own_process, in_turn, limit_memory, rival_function

BATCH, BATCHES, PROBES, GAMMA = 64, 4, 2, 1e-3
DENSITIES = (0.018, 0.036, 0.087, 0.17, 0.5, 1.0)
ROUNDS = {"mlp": 5, "cnn": 1}
SIDES = {"mlp": 1, "cnn": 8}  # blocks a side of the rival's kernels
TIMED = {"mlp": 1, "cnn": 2}  # of these blocks
CASES = [("mlp", "probe"), ("mlp", "full"), ("cnn", "probe"), ("cnn", "full"), ("mlp", "densities")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs=2, metavar=("NETWORK", "WHAT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        network, what = arguments.case
        print(json.dumps(across_densities(network) if what == "densities" else compare(network, what)))
        return
    found = {}
    print(f"{'network':9}{'estimator':>11}{'rival ms':>11}{'ours ms':>10}{'speed-up':>10}")
    for network, what in CASES:
        row = found[network, what] = in_own_process(__file__, ["--case", network, what])
        if row is None:
            print(f"{network:9}{what:>11}   null: more than {MEMORY_GB} GB or {MINUTES} minutes", flush=True)
        elif what != "densities":
            print(
                f"{network:9}{what:>11}{1e3 * row['rival']:11.1f}{1e3 * row['ours']:10.1f}{row['speedup']:10.1f}",
                flush=True,
            )
        else:
            for density, seconds in row["seconds"].items():
                print(f"{network:9}{'density ' + density:>15}{1e3 * seconds:10.2f} ms")
    densities = found["mlp", "densities"]
    print(
        json.dumps(
            {
                **{f"search_{name}_speedup": _speedup(found[name, "probe"]) for name in ("mlp", "cnn")},
                **{f"search_{name}_full_speedup": _speedup(found[name, "full"]) for name in ("mlp", "cnn")},
                "density_cost_spread": densities and round(densities["spread"], 3),
            }
        )
    )


def _speedup(row: dict[str, float] | None) -> float | None:
    return row and round(row["speedup"], 1)


def prepare(name: str, kind: str, attack_steps: int) -> tuple[Any, ...]:
    """On random points: network, weights, a batch, and our compiled search of so many steps at a density."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    from awt.attacks.ball import Ball
    from awt.attacks.pgd import Attack
    from awt.kernels.estimators import Masked, estimator, residual
    from awt.models.cnn import cnn
    from awt.models.mlp import mlp
    from awt.models.network import Network
    from awt.runtime import memory
    from awt.tickets.awt import Pressure, Program, Student, _advance
    from awt.tickets.dense_side import batch_key
    from awt.tickets.distances import Batches
    from awt.tickets.masks import counts, magnitudes, select

    memory.keep()  # as awt's processes do; the rival gains as well
    layers = mlp((28, 28, 1), (300, 100), 10, "glorot") if name == "mlp" else cnn((28, 28, 1), (32, 64, 1024), 10, "he")
    network = Network(tuple(layers))
    weights = network.initialise(0)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.random((BATCHES, BATCH, 28, 28, 1)), jnp.float32)
    y = jnp.asarray(rng.integers(0, 10, (BATCHES, BATCH)))
    chosen, key = estimator(kind, PROBES), jax.random.key(0)
    outputs = jax.lax.map(partial(network.apply, weights), x)
    directions = jax.vmap(residual)(outputs, y)
    dense = Masked(network, weights)
    views = jnp.stack([chosen.views(dense, x[i], x[i], batch_key(key, i), directions[i]) for i in range(BATCHES)])
    threat = Ball("linf", 0.0924 if attack_steps else 0.0, (1.0,), clip=True)
    attack = Attack(steps=max(attack_steps, 1), step_size=None, random_start=True)
    program = Program(
        network, threat, attack, 5e-4, 100, "squared", "frobenius", chosen, projected=True, match_kernel=True
    )

    def search(density: float, steps: int) -> Any:
        kept = jnp.asarray(counts(network.kernel_shapes, density, "global"))
        mask = select(magnitudes(weights), kept)
        student = Student(weights, optax.adam(5e-4).init(weights), mask, mask)
        pressure = Pressure(jnp.tile(kept, (1000, 1)), GAMMA, 1e-4 / density)
        order = jnp.arange(steps) % BATCHES
        batches = Batches(x, y, outputs, views)
        return partial(_advance, program, pressure, batches, student, order, (key, key), 0, 0, steps)

    return network, weights, x[0], search


def compare(name: str, kind: str) -> dict[str, float]:
    """A step of ours, of a few in one call as in a search, and one of the rival's, in turn."""
    limit_memory()
    import jax
    import jax.numpy as jnp
    import optax

    from awt.kernels._neural_tangents import empirical_ntk
    from awt.tickets.masks import counts, magnitudes, select

    network, weights, x, search = prepare(name, kind, attack_steps=0)
    density = 0.036
    steps = {"probe": {"mlp": 50, "cnn": 4}, "full": {"mlp": 5, "cnn": 1}}[kind][name]
    mask = select(magnitudes(weights), jnp.asarray(counts(network.kernel_shapes, density, "global")))
    optimiser = optax.adam(5e-4)

    def kernel(weights: Any, mask: Any, rows: jax.Array, columns: jax.Array) -> jax.Array:
        return empirical_ntk(rival_function(network, mask), 2)(weights, rows, columns)

    @jax.jit
    def of_target(student: Any, weights: Any, x: jax.Array) -> Any:
        def distance(student: Any) -> jax.Array:
            outputs = rival_function(network, mask)(student, x)
            return jnp.sum((outputs - network.apply(weights, x)) ** 2) / len(x)

        return jax.grad(distance)(student)

    @jax.jit
    def add_block(gradient: Any, student: Any, weights: Any, rows: jax.Array, columns: jax.Array) -> Any:
        dense = kernel(weights, None, rows, columns)

        def distance(student: Any) -> jax.Array:
            return GAMMA**2 * jnp.sum((kernel(student, mask, rows, columns) - dense) ** 2) / BATCH**2

        return jax.tree.map(jnp.add, gradient, jax.grad(distance)(student))

    @jax.jit
    def update(student: Any, state: Any, gradient: Any) -> Any:
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(student, updates), state

    parts = x.reshape(SIDES[name], -1, *x.shape[1:])
    blocks = list(itertools.product(parts, parts))[: TIMED[name]]

    def published() -> Any:
        gradient = of_target(weights, weights, x)
        for block in blocks:
            gradient = add_block(gradient, weights, weights, *block)
        return update(weights, optimiser.init(weights), gradient)

    ours_times, rival_times = in_turn([search(density, steps), published], ROUNDS[name])
    ours_times = [seconds / steps for seconds in ours_times]
    rival_times = [seconds * SIDES[name] ** 2 / TIMED[name] for seconds in rival_times]
    return {
        "ours": statistics.median(ours_times),
        "rival": statistics.median(rival_times),
        "speedup": statistics.median(b / a for a, b in zip(ours_times, rival_times, strict=True)),
    }


def across_densities(name: str) -> dict[str, Any]:
    """Our step with its attack of 10 steps, at every density in turn; all run one compiled program."""
    *_, search = prepare(name, "probe", attack_steps=10)
    steps = 25
    times = in_turn([search(density, steps) for density in DENSITIES], 9)
    medians = [statistics.median(found) / steps for found in times]
    return {
        "seconds": {f"{density:g}": seconds for density, seconds in zip(DENSITIES, medians, strict=True)},
        "spread": max(medians) / min(medians),
    }


if __name__ == "__main__":
    main()
