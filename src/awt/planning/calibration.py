"""How fast the machine is at this experiment: real training steps of its network, on random points, for a few seconds.

What is measured runs as cells do: in a process of its own, pinned to as many cores as a cell gets, or on the cluster.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from awt.artifacts import Buffer, decode_json, encode_json
from awt.errors import InputError, WorkError, run
from awt.params import Params, Runtime
from awt.planning.outline import Outline
from awt.runtime import Cell, Context, Executor, Store, open_executor
from awt.runtime.cell import from_json, to_json

SECONDS = 1.0  # of steps, once compiled
KINDS = ("retrain", "mask", "teacher", "evaluate", "dense", "views", "points", "plan", "tile")


class Rate(NamedTuple):
    """Of a cell with so many threads: operations a second in training, seconds to compile a step, and the share of its
    core that the measurement got; less than all where other work goes on."""

    threads: int
    flops: float
    compile_seconds: float
    share: float


class Tiles(NamedTuple):
    """The side of a Gram matrix's tiles, and the bytes that the computation of one takes."""

    side: int
    bytes: float


def training_cell(params: Params, data: Outline, kind: str) -> Cell:
    """A measurement with the resources of a kind of cells."""
    return Cell(
        kind=kind,
        label=f"calibration {kind}",
        function="awt.planning.calibration:measure",
        params={
            "model": params.model.as_json(),
            "threat": params.threat.as_json(),
            "retrain": params.retrain.as_json(),
            "data": data.described(),
        },
    )


def measure(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: operations a second of training steps as the retrain stage takes them, and the time to compile one."""
    import jax
    import numpy as np

    from awt.attacks.ball import ball
    from awt.data.dataset import Dataset
    from awt.keys import generator, key
    from awt.models.zoo import build
    from awt.params import Model, Retrain, Threat
    from awt.planning.search_work import training_passes
    from awt.planning.size import size
    from awt.runtime.cores import available
    from awt.training.adversarial import advance_epoch, recipe_of, start

    retrain, data = Retrain.of(params["retrain"]), params["data"]
    points = min(data["counts"]["train"], 64 * retrain.batch) // retrain.batch * retrain.batch
    rng = generator(0, "calibration")
    x = rng.random((points, *data["shape"]), np.float32)
    y = rng.integers(0, data["classes"], points).astype(np.int32)
    mean, std = (np.array(data[name], np.float32) for name in ("mean", "std"))
    dataset = Dataset(x, y, x[:0], y[:0], x[:0], y[:0], mean, std, data["classes"])
    network = build(Model.of(params["model"]), dataset)
    threat = Threat.of(params["threat"])
    steps = points // retrain.batch
    recipe = recipe_of(network, ball(threat, dataset.std), dataset, retrain, steps)
    mask, batches = network.everything(), rng.permutation(points).reshape(steps, retrain.batch)
    state = start(recipe, network.initialise(0), mask)

    # on one core, its own time: what else the machine does now is no part of the experiment
    alone = jax.default_backend() == "cpu" and available() == 1
    clock = time.process_time if alone else time.monotonic

    def seconds(number: int) -> float:
        began = clock()
        done = advance_epoch(recipe, mask, x, y, batches, key(0, "calibration"), state, 0, number)
        jax.block_until_ready(done)  # type: ignore[no-untyped-call]
        return clock() - began

    compiled = seconds(0)
    began, number, taken = time.monotonic(), 0, 0.0
    while taken < SECONDS:
        more = min(steps, 2 * number + 1)
        number, taken = number + more, taken + seconds(more)
    passes = training_passes(retrain, dataset.classes, threat.eps)
    flops = number * retrain.batch * passes * size(network, dataset.shape).forward
    share = taken / (time.monotonic() - began)
    return {"rate.json": encode_json({"flops": flops / taken, "compile_seconds": compiled, "share": share})}


def calibrate(
    executor: Executor, params: Params, data: Outline, plans: Sequence[Cell]
) -> tuple[list[Rate], list[Tiles]]:
    """A rate for each number of threads that cells have, and what the plan cells choose. The executor's store must be a
    passing one: measurements are not to be found again."""
    kinds = {executor.threads(kind): kind for kind in reversed(KINDS)}  # the first that has so many
    measured = [training_cell(params, data, kind) for kind in kinds.values()]
    if executor.is_cluster:
        executor.run([*measured, *plans])
    else:
        for threads in kinds:
            cells = [cell for cell in (*measured, *plans) if executor.threads(cell.kind) == threads]
            _in_own_process(executor, cells)
    rates = [Rate(threads, **_read(executor, cell, "rate.json")) for threads, cell in zip(kinds, measured, strict=True)]
    chosen = [_read(executor, cell, "plan.json") for cell in plans]
    return sorted(rates), [Tiles(one["side"], one["bytes"]) for one in chosen]


def _read(executor: Executor, cell: Cell, name: str) -> Any:
    entry = executor.store.find(executor.key(cell))
    if entry is None:
        raise WorkError(f"{cell.label}: no result; its device or settings are not those that were asked for")
    return decode_json(entry.read(name), name)


def _in_own_process(executor: Executor, cells: Sequence[Cell]) -> None:
    """Fills the store: JAX sizes its threads when it is imported, once in a process."""
    runtime = executor.runtime.model_copy(update={"executor": "serial"})
    asked = {
        "runtime": runtime.as_json(),
        "store": str(executor.store.root.absolute()),
        "cells": [to_json(cell) for cell in cells],
    }
    done = subprocess.run(
        [sys.executable, "-m", "awt.planning.calibration"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().removeprefix("error: ")
        raise (InputError if done.returncode == InputError.exit_code else WorkError)(f"calibration: {said}")


def main() -> None:
    asked = json.load(sys.stdin)
    executor = open_executor("plan", Runtime.of(asked["runtime"]), Store(Path(asked["store"])), "")
    executor.run([from_json(cell) for cell in asked["cells"]])


if __name__ == "__main__":
    sys.exit(run(main))
