"""How fast the machine is at this experiment: real training steps of its network, on random points, for a few seconds.

What is measured runs as cells do: in a process of its own, pinned to as many cores as a cell gets, or on the cluster;
and beside as many others as will run, since cores share more than they seem to.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import jax
import numpy as np

from awt.artifacts import Buffer, decode_json, encode_json
from awt.attacks.ball import Threat, ball
from awt.data.dataset import Dataset
from awt.keys import generator, key
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.size import size
from awt.options import from_json
from awt.planning.schedule import at_once
from awt.planning.scratch import compute
from awt.runtime.cell import Cell
from awt.runtime.cores import available
from awt.runtime.executor import Executor
from awt.runtime.machines import Machine
from awt.training.adversarial import advance_epoch, program_of, start
from awt.training.cost import training_passes
from awt.training.options import Training

SECONDS = 1.0  # of steps, once compiled
BESIDE = 8  # measurements at once, at most


class Rate(NamedTuple):
    """Of cells with so many threads: operations a second in training, seconds to compile a step, and the share of its
    core that a measurement got; less than all where other work goes on."""

    threads: int
    flops: float
    compile_seconds: float
    share: float


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


def measure(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: operations a second of training steps as a training cell takes them, and the time to compile one."""
    options, threat, data = from_json(Training, params["training"]), from_json(Threat, params["threat"]), params["data"]
    points = min(data["counts"]["train"], 64 * options.batch) // options.batch * options.batch
    rng = generator(0, "calibration")
    x = rng.random((points, *data["shape"]), np.float32)
    y = rng.integers(0, data["classes"], points).astype(np.int32)
    mean, std = (np.array(data[name], np.float32) for name in ("mean", "std"))
    dataset = Dataset(x, y, x[:0], y[:0], x[:0], y[:0], mean, std, data["classes"])
    network = build(from_json(Model, params["model"]), dataset)
    steps = points // options.batch
    program = program_of(network, ball(threat, dataset.std), dataset, options, steps)
    mask, batches = network.everything(), rng.permutation(points).reshape(steps, options.batch)
    state = start(program, network.initialise(0), mask)

    def run_steps(number: int) -> None:
        done = advance_epoch(program, mask, x, y, batches, key(0, "calibration"), state, 0, number)
        jax.block_until_ready(done)  # type: ignore[no-untyped-call]

    began = Clock.now()
    run_steps(0)
    compiled = began.since()
    began, number = Clock.now(), 0
    while began.since() < SECONDS:
        more = min(steps, 2 * number + 1)
        run_steps(more)
        number += more
    taken, share = began.since(), began.share()
    passes = training_passes(options, dataset.classes, threat.eps)
    flops = number * options.batch * passes * size(network, dataset.shape).forward
    return {"rate.json": encode_json({"flops": flops / taken, "compile_seconds": compiled, "share": share})}


def calibrate(
    executor: Executor, machines: Sequence[Machine], training: Mapping[str, Any], kinds: Sequence[str]
) -> list[Rate]:
    """Rates of cells with the resources of some kinds, at a training: `model`, `threat` and `training` as a cell has
    them, `data` as dataset.json. The executor's store must be a passing one, where no measurement is found again."""
    rates = []
    for kind in kinds:
        number = min(at_once(executor, machines, kind), BESIDE)
        entries = compute(executor, [_measuring_cell(kind, training, one) for one in range(number)])
        measured = [decode_json(entry.read("rate.json"), "rate.json") for entry in entries]
        means = {name: fmean(one[name] for one in measured) for name in measured[0]}
        rates.append(Rate(executor.threads(kind), **means))
    return rates


def _measuring_cell(kind: str, training: Mapping[str, Any], number: int) -> Cell:
    params = {**training, "number": number}
    return Cell(kind, f"calibration {kind} {number}", "awt.planning.calibration:measure", params)
