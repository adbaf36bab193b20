"""How fast the machine is at this experiment: real training steps of its network, on random points, for a few seconds.

What is measured runs as cells do: in a process of its own, pinned to as many cores as a cell gets, or on the cluster;
and beside as many others as will run, since cores share more than they seem to.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from awt.artifacts import Buffer, decode_json, encode_json
from awt.errors import InputError, WorkError, run
from awt.params import Params, Runtime
from awt.planning.outline import Outline
from awt.planning.schedule import at_once
from awt.runtime.cell import Cell, from_json, to_json
from awt.runtime.context import Context
from awt.runtime.cores import available
from awt.runtime.executor import Executor, open_executor
from awt.runtime.machines import Machine
from awt.runtime.store import Store

SECONDS = 1.0  # of steps, once compiled
BESIDE = 8  # measurements at once, at most
KINDS = ("retrain", "mask", "teacher", "evaluate", "dense", "views", "points", "plan", "tile")


class Rate(NamedTuple):
    """Of cells with so many threads: operations a second in training, seconds to compile a step, and the share of its
    core that a measurement got; less than all where other work goes on."""

    threads: int
    flops: float
    compile_seconds: float
    share: float


class Tiles(NamedTuple):
    """The side of a Gram matrix's tiles, and the bytes that the computation of one takes."""

    side: int
    bytes: float


class Clock(NamedTuple):
    """Time as it would pass if nothing else ran on this machine: without what threads waited for their cores."""

    wall: float
    cpu: float
    waited: float

    @classmethod
    def now(cls) -> "Clock":
        return cls(time.monotonic(), time.process_time(), _waited())

    def since(self) -> float:
        wall, cpu, waited = (there - here for here, there in zip(self, Clock.now(), strict=True))
        return max(wall - waited / available(), cpu / available(), 1e-6)

    def share(self) -> float:
        """Of the time that passed."""
        return min(1.0, self.since() / (time.monotonic() - self.wall))


def _waited() -> float:
    """Seconds that this process's threads were ready to run and did not; 0 where the system does not say."""
    waited = 0.0
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError, IndexError, ValueError):  # a thread may have ended
            waited += int(path.read_text().split()[1]) / 1e9
    return waited


def training_cell(params: Params, data: Outline, kind: str, number: int = 0) -> Cell:
    """The `number`-th of the measurements with the resources of a kind of cells."""
    return Cell(
        kind=kind,
        label=f"calibration {kind} {number}",
        function="awt.planning.calibration:measure",
        params={
            "model": params.model.as_json(),
            "threat": params.threat.as_json(),
            "retrain": params.retrain.as_json(),
            "data": data.described(),
            "number": number,
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

    def steps_done(number: int) -> None:
        done = advance_epoch(recipe, mask, x, y, batches, key(0, "calibration"), state, 0, number)
        jax.block_until_ready(done)  # type: ignore[no-untyped-call]

    began = Clock.now()
    steps_done(0)
    compiled = began.since()
    began, number = Clock.now(), 0
    while began.since() < SECONDS:
        more = min(steps, 2 * number + 1)
        steps_done(more)
        number += more
    taken, share = began.since(), began.share()
    passes = training_passes(retrain, dataset.classes, threat.eps)
    flops = number * retrain.batch * passes * size(network, dataset.shape).forward
    return {"rate.json": encode_json({"flops": flops / taken, "compile_seconds": compiled, "share": share})}


def calibrate(
    executor: Executor, machines: Sequence[Machine], params: Params, data: Outline, plans: Sequence[Cell]
) -> tuple[list[Rate], list[Tiles]]:
    """A rate for each number of threads that cells have, and what the plan cells choose. The executor's store must be a
    passing one: measurements are not to be found again."""
    kinds = {executor.threads(kind): kind for kind in reversed(KINDS)}  # the first that has so many
    rates = []
    for threads, kind in sorted(kinds.items()):
        beside = min(at_once(executor, machines, kind), BESIDE)
        cells = [training_cell(params, data, kind, number) for number in range(beside)]
        _compute(executor, cells)
        found = [_read(executor, cell, "rate.json") for cell in cells]
        rates.append(Rate(threads, **{name: fmean(one[name] for one in found) for name in found[0]}))
    _compute(executor, plans)
    chosen = [_read(executor, plan, "plan.json") for plan in plans]
    return rates, [Tiles(one["side"], one["bytes"]) for one in chosen]


def _read(executor: Executor, cell: Cell, name: str) -> Any:
    entry = executor.store.find(executor.key(cell))
    if entry is None:
        raise WorkError(f"{cell.label}: no result; its device or settings are not those that were asked for")
    return decode_json(entry.read(name), name)


def _compute(executor: Executor, cells: Sequence[Cell]) -> None:
    """Fills the executor's store; here with a process for each cell, side by side, since JAX sizes its threads when it
    is imported, once in a process."""
    if executor.is_cluster:
        executor.run(cells)
        return
    runtime = executor.runtime.model_copy(update={"executor": "serial"}).as_json()
    store = str(executor.store.root.absolute())
    asked = [{"runtime": runtime, "store": store, "cell": to_json(cell)} for cell in cells]
    with ThreadPoolExecutor(len(asked)) as pool:
        list(pool.map(_in_own_process, asked))


def _in_own_process(asked: dict[str, Any]) -> None:
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
    executor.run([from_json(asked["cell"])])


if __name__ == "__main__":
    sys.exit(run(main))
