"""How cells scale: two workers against one, what a cell costs beside its work, thousands of cells over many slots.

What is real: Ray, its worker processes with JAX loaded, awt's executor, monitor, store and Gram tiles. What is not: of
the many slots each stands for a node, yet all are processes of this machine, on three of Ray's nodes; and their cells
sleep for a tile's time instead of computing. So workers' own costs beside their work, which nodes would bear, fall on
this machine's cores too: what is measured there is a lower bound. The projections at the end are arithmetic with the
figures measured here, and with a GPU's rate that is an assumption. The last line printed is JSON.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from projection.forecast import measure_rates, projections
from projection.tiles import tile_cells, write_inputs
from sidebyside import in_own_process

TILES, TILE_SIDE = (2, 10), 128  # in a short and a long run; of the CNN: about two seconds each
REST, RESTS = 1.0, (8, 64)  # seconds of a cell whose overhead is measured, and how many in a short and a long run
SPREAD = 0.5  # of the logarithm of sleeping times
MANY = [(8, 1_000, 0.3), (16, 5_000, 0.2), (64, 20_000, 1.6)]  # slots, cells, mean seconds of a cell
MORE = 100_000  # cells
RESULT = 4 * 64**2  # bytes that a sleeping cell returns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="times that each contender runs (default: 3)")
    parser.add_argument("--only", choices=["tiles", "overhead", "many"], help="of the measurements, one")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        name, *words = arguments.part
        with contextlib.redirect_stdout(sys.stderr):
            found = PARTS[name](*words)
        print(json.dumps(found))
        return
    figures: dict[str, Any] = {"load_before": round(os.getloadavg()[0], 1)}
    for name, measured in (("overhead", overhead), ("tiles", tiles), ("many", many)):
        if arguments.only in (None, name):
            figures |= measured(arguments.rounds)
    if arguments.only is None:
        with tempfile.TemporaryDirectory() as folder:
            part("inputs", folder)
            costs = figures["cell_overhead"] * REST, figures["driver_ms_per_cell"] / 1e3
            figures |= projections(part("rates", folder), costs)
    print(json.dumps(figures))


def part(*words: object) -> Any:
    found = in_own_process(__file__, ["--part", *map(str, words)], minutes=25)
    if found is None:
        raise SystemExit(f"{words[0]}: more than 25 minutes, or not enough memory")
    return found


@contextlib.contextmanager
def cluster(cpus: int) -> Iterator[Any]:
    """A head of Ray with so many CPUs, whatever this machine has, and an executor that joins it."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus, "object_store_memory": 300 * 2**20})
    os.environ["RAY_ADDRESS"] = made.address
    from awt.runtime.executor import open_executor
    from awt.runtime.options import Runtime
    from awt.runtime.store import Store

    folder = Path(tempfile.mkdtemp())
    executor = open_executor("scaling", Runtime(device="cpu"), Store(folder))
    try:
        yield made, executor
    finally:
        executor.close()
        made.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def rests(times: list[float], name: str) -> list[Any]:
    """Cells that sleep."""
    from awt.runtime.cell import Cell

    return [
        Cell("tile", f"{name} {number}", "awt.planning.rehearsal:rest", {"name": name, "number": number, **params})
        for number, params in enumerate({"seconds": seconds, "bytes": RESULT} for seconds in times)
    ]


def start_workers(executor: Any, slots: int) -> None:
    """Runs cells until as many processes as there are slots have taken some: a process takes seconds to start, and the
    first to be there would take more than their share."""
    for number in range(40):
        cells = rests([1.0] * 2 * slots, f"apart {slots} {number}")
        logs = [executor.store.log(entry.key).read_text() for entry in executor.run(cells)]
        if len({process for log in logs for process in re.findall(r"pid (\d+)", log)}) == slots:
            return
    raise SystemExit(f"not all of {slots} workers came")


def timed(executor: Any, cells: list[Any]) -> tuple[float, float]:
    """Seconds, and seconds of this process's CPU time."""
    began, spent = time.perf_counter(), time.process_time()
    executor.run(cells)
    return time.perf_counter() - began, time.process_time() - spent


def overhead(rounds: int) -> dict[str, float]:
    """What a cell costs beside its work, and what a run of any number of cells costs once: its monitor is a process."""
    found = part("overhead", rounds)
    each, once = (statistics.median(row[name] for row in found) for name in ("each", "once"))
    whole = statistics.median(row["whole"] for row in found)
    print(
        f"a cell of {REST:g} s costs {1e3 * (2 * each - REST):.0f} ms beside its work, a run {once:.1f} s once: "
        f"together {2 * whole / RESTS[1] / REST - 1:.1%} of a run of {RESTS[1]} cells on two workers",
        flush=True,
    )
    return {
        "cell_overhead": round(2 * each / REST - 1, 4),
        "cell_overhead_with_start": round(2 * whole / RESTS[1] / REST - 1, 4),
        "run_start_seconds": round(once, 2),
    }


def measure_overhead(rounds: str) -> list[dict[str, float]]:
    found = []
    with cluster(2) as (_, executor):
        start_workers(executor, 2)
        for number in range(int(rounds)):
            short, long = (timed(executor, rests([REST] * count, f"{number} {count}"))[0] for count in RESTS)
            found.append({**line(short, long, RESTS), "whole": long})
    return found


def line(short: float, long: float, counts: tuple[int, int]) -> dict[str, float]:
    """Seconds that each further cell takes, and those that a run takes once, from a short and a long run."""
    each = (long - short) / (counts[1] - counts[0])
    return {"each": each, "once": short - counts[0] * each}


def tiles(rounds: int) -> dict[str, Any]:
    """One worker and two, each with a Ray of its own, take the same tiles in turn, few and many: the difference is the
    steady state, without what starts and is compiled. Workers last from turn to turn; the first is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        part("inputs", folder)
        drivers = [driver(folder, workers) for workers in (1, 2)]
        try:
            turns = [[turn(one) for one in drivers] for _ in range(rounds + 1)][1:]
        finally:
            for one in drivers:
                one.stdin.close()
                one.wait()
    efficiency = [alone["each"] / (2 * both["each"]) for alone, both in turns]
    for (alone, both), ratio in zip(turns, efficiency, strict=True):
        print(f"a tile: 1 worker {alone['each']:6.3f} s, 2 workers {both['each']:6.3f} s, efficiency {ratio:.3f}")
    best = [min(one["each"] for one in column) for column in zip(*turns, strict=True)]
    slower = statistics.median(both["cell"] / alone["cell"] for alone, both in turns)
    return {
        "two_worker_efficiency": round(statistics.median(efficiency), 3),
        "two_worker_efficiency_of_best": round(best[0] / (2 * best[1]), 3),
        "two_worker_speedup": round(2 * statistics.median(efficiency), 3),
        "tile_slower_beside_another": round(slower, 3),  # for memory and caches, and whoever else is here
    }


def driver(folder: str, workers: int) -> Any:
    """A process that computes the tiles at each line it is sent; locks on cores are apart from the other's."""
    own = Path(folder, str(workers))
    own.mkdir()
    words = [sys.executable, __file__, "--part", "driver", folder, str(workers)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(words, text=True, env={**os.environ, "TMPDIR": str(own)}, **streams)


def turn(one: Any) -> dict[str, float]:
    one.stdin.write("go\n")
    one.stdin.flush()
    return json.loads(one.stdout.readline())


def drive(folder: str, workers: str) -> None:
    from awt.runtime.store import Store

    with cluster(int(workers)) as (_, executor):
        start_workers(executor, int(workers))
        for number, _ in enumerate(sys.stdin):
            walls = []
            for count in TILES:
                executor.store = Store(Path(folder, workers, f"{number}-{count}"))  # nothing is there yet
                walls.append(timed(executor, tile_cells(Path(folder), "cnn", TILE_SIDE, count))[0])
            times = [cell["seconds"] for cell in executor.stats.cells[-TILES[1] :]]
            found = {**line(*walls, TILES), "cell": statistics.median(times)}
            print(json.dumps(found), file=sys.__stdout__, flush=True)


def many(_: int) -> dict[str, Any]:
    """Sleeping cells over more and more slots."""
    rows = part("many")
    print(f"{'slots':>6}{'cells':>8}{'mean s':>8}{'ideal s':>9}{'wall s':>8}{'efficiency':>12}{'driver ms a cell':>18}")
    for row in rows:
        print(
            f"{row['slots']:6}{row['cells']:8}{row['mean']:8.2f}{row['ideal']:9.1f}{row['wall']:8.1f}"
            f"{row['efficiency']:12.3f}{row['driver_ms']:18.2f}",
            flush=True,
        )
    last = rows[-1]
    wall, busy = (MORE * seconds for seconds in (last["wall"] / last["cells"], last["driver_ms"] / 1e3))
    print(
        f"{MORE} cells, by extrapolation: {wall:.0f} s on {last['slots']} slots, of which the driver is busy for "
        f"{busy:.0f} s; it could feed {1e3 / last['driver_ms']:.0f} cells a second"
    )
    return {
        "simulated_64_node_efficiency": round(last["efficiency"], 3),
        "simulated": rows,
        "driver_ms_per_cell": round(last["driver_ms"], 2),
        "driver_cells_per_second": round(1e3 / last["driver_ms"]),
    }


def measure_many() -> list[dict[str, float]]:
    """One cluster that grows: nodes of Ray are added until it has as many slots as a row asks for."""
    import numpy as np

    rng, rows, slots = np.random.default_rng(0), [], MANY[0][0]
    with cluster(slots) as (made, executor):
        for wanted, count, mean in MANY:
            if wanted > slots:
                made.add_node(num_cpus=wanted - slots, object_store_memory=300 * 2**20)
                made.wait_for_nodes()
                slots = wanted
            start_workers(executor, slots)
            times = rng.lognormal(0, SPREAD, count)
            times *= mean / times.mean()
            wall, spent = timed(executor, rests(times.tolist(), f"many {slots}"))
            ideal = times.sum() / slots
            rows.append(
                {
                    "slots": slots,
                    "cells": count,
                    "mean": mean,
                    "ideal": ideal,
                    "wall": wall,
                    "efficiency": ideal / wall,
                    "driver_ms": 1e3 * spent / count,
                }
            )
    return rows


PARTS = {
    "driver": drive,
    "inputs": write_inputs,
    "many": measure_many,
    "overhead": measure_overhead,
    "rates": measure_rates,
}

if __name__ == "__main__":
    main()
