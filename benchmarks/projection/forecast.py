"""How long large Gram matrices would take: arithmetic with what was measured here, and with an assumed GPU's rate."""

import json
import math
import time
from pathlib import Path
from typing import Any

from projection.tiles import IMAGENET, MNIST, MODELS, network, tile_cells

GPU_FLOPS, GPU_TILE = 19.5e12, 32  # assumed: an A100's float32 rate, and a side that fits its memory
POINTS = 60_000


def projections(rates: dict[str, Any], costs: tuple[float, float]) -> dict[str, Any]:
    """From a tile's time or operations, and from the seconds that a cell costs its worker and the driver."""
    share = min(rates[name]["gemm_share"] for name in ("mlp", "cnn"))
    print(f"{'Gram matrix, traced':42}{'tiles':>9}{'result':>9}{'a tile':>9}   time")
    found = {}
    for name in ("mlp", "cnn"):
        measured = rates[name]
        number = triangle(POINTS, measured["side"])
        found[f"mnist_{name}_core_hours"] = show(
            f"{name}, {POINTS} MNIST points, cores as here", number, POINTS, measured["seconds"], costs, (2, 64, 512)
        )
    for points in (10_000, 50_000):
        seconds = rates["vgg16"]["flops"] / (GPU_FLOPS * share)
        number = triangle(points, GPU_TILE)
        title = f"vgg16, {points} points of 224x224x3, GPUs"
        found[f"vgg16_{points}_gpu_hours"] = show(title, number, points, seconds, costs, (8, 64))
    shares = ", ".join(f"{name} {rates[name]['gemm_share']:.0%}" for name in ("mlp", "cnn"))
    print(
        f"assumed: a GPU of {GPU_FLOPS / 1e12:g} TFLOP/s in float32, of which tiles reach {share:.0%}, as the slower "
        f"ones do here of a core's matrix products ({shares})"
    )
    return {
        **{key: round(value, 2) for key, value in found.items()},
        "gemm_gflops": round(rates["gemm"] / 1e9, 1),
        **{f"tile_gflops_{name}": round(rates[name]["rate"] / 1e9, 1) for name in ("mlp", "cnn")},
        "gemm_share": round(share, 3),
        "assumed_gpu_tflops": GPU_FLOPS / 1e12,
    }


def triangle(points: int, side: int) -> int:
    """Tiles on and above the diagonal."""
    across = math.ceil(points / side)
    return across * (across + 1) // 2


def show(
    title: str, number: int, points: int, seconds: float, costs: tuple[float, float], workers: tuple[int, ...]
) -> float:
    """Prints a row; returns the hours of one worker. However many workers there are, each cell passes the driver."""
    cell, passing = costs
    total = number * (seconds + cell)
    times = ", ".join(f"{duration(max(total / count, number * passing))} on {count}" for count in workers)
    print(f"{title:42}{number:9}{4 * points**2 / 2 / 1e9:7.3g}GB{seconds:7.2g} s   {times}")
    return total / 3600


def duration(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def measure_rates(folder: str) -> dict[str, Any]:
    """Tiles of the side that 1 GB allows, in this process on one core, each beside a matrix product; operations as
    `awt plan` counts them."""
    from awt.models.architecture import Model
    from awt.options import from_json
    from awt.runtime.cell import Source
    from awt.runtime.executor import open_executor
    from awt.runtime.options import Runtime
    from awt.runtime.store import Store
    from awt.services.gram import PointSet, Request, Subject, plan_cell

    executor = open_executor("scaling", Runtime(executor="serial", device="cpu"), Store(Path(folder, "store")))
    found: dict[str, Any] = {"vgg16": {"flops": tile_flops(network("vgg16", IMAGENET), IMAGENET, GPU_TILE)}}
    products = []
    for name in ("mlp", "cnn"):
        model, weights = from_json(Model, MODELS[name]), Source.of(Path(folder, f"{name}.npz"))
        subject = Subject("dense", 1.0, 0, False, model, MNIST, weights)
        request = Request(subject, PointSet("train", POINTS, Source.of(Path(folder, "x.npy"))))
        [plan] = executor.run([plan_cell(request, 1.0)])
        side = json.loads(plan.read("plan.json"))["side"]
        seconds = []
        for cell in tile_cells(Path(folder), name, side, 4):
            executor.run([cell])
            seconds.append(executor.stats.cells[-1]["seconds"])
            products.append(gemm_rate())
        flops = tile_flops(network(name, MNIST), MNIST, side)
        best = min(seconds[1:])  # the first compiles
        found[name] = {"side": side, "flops": flops, "seconds": best, "rate": flops / best}
    found["gemm"] = max(products)
    for name in ("mlp", "cnn"):
        found[name]["gemm_share"] = found[name]["rate"] / found["gemm"]
    return found


def tile_flops(made: Any, data: dict[str, Any], side: int) -> float:
    from awt.kernels.cost import factor_flops, pair_flops
    from awt.models.size import Problem, size

    problem = Problem(size(made, tuple(data["shape"])), data["classes"], {})
    return 2 * side * factor_flops(problem) + side**2 * pair_flops(problem, "trace", masked=False)


def gemm_rate(side: int = 2048) -> float:
    """Operations a second of a matrix product, the best of some."""
    import jax
    import jax.numpy as jnp

    square = jnp.ones((side, side), jnp.float32)
    product = jax.jit(lambda square: square @ square)
    times = []
    for _ in range(4):
        began = time.perf_counter()
        jax.block_until_ready(product(square))
        times.append(time.perf_counter() - began)
    return 2 * side**3 / min(times)
