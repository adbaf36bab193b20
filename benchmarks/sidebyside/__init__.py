"""What the benchmarks share: contenders in turn, each comparison in a process of its own, memory and time limited."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEMORY_GB = 16  # a rival that needs more counts as null
MINUTES = 10  # and so does one that takes longer
TURN = 0.5  # seconds that a contender's turn lasts at least
QUIET = 0.02  # of a core taken away by the machine's host in a round


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_GB * 10**9,) * 2)


def in_own_process(file: str, words: list[str], minutes: float | None = MINUTES) -> Any:
    """What a benchmark called with these words prints last, or None when it did not fit in memory or time."""
    limit = None if minutes is None else 60 * minutes
    try:
        done = subprocess.run(
            [sys.executable, file, *words], capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if done.returncode < 0 or "RESOURCE_EXHAUSTED" in done.stderr or "MemoryError" in done.stderr:
        return None
    raise SystemExit(f"{' '.join(words)}: {done.stderr}")


def in_turn(contenders: list[Callable[[], Any]], rounds: int) -> list[list[float]]:
    """Seconds of each by round, after one run apart that compiles; a turn of a fast one is several runs. Ratios are to
    be taken round by round: what slows a noisy machine down slows all of a round."""
    import jax

    for contender in contenders:
        jax.block_until_ready(contender())
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, found in zip(contenders, times, strict=True):
            found.append(_turn(contender))
    return times


def _turn(contender: Callable[[], Any]) -> float:
    """Seconds of one run."""
    import jax

    runs, began = 0, time.perf_counter()
    while not runs or time.perf_counter() - began < TURN:
        jax.block_until_ready(contender())
        runs += 1
    return (time.perf_counter() - began) / runs


def apart_in_turn(file: str, cases: list[list[str]], rounds: int) -> list[list[float]]:
    """As in_turn, but each contender in a process of its own, where no rival's threads and memory are: the benchmark
    called with a case's words has it take its turns.

    On a virtual machine the host takes the cores away at times, from one contender's turn and not from the next: of up
    to three times as many rounds those count from which it took least. Times have no say in that.
    """
    processes = [
        subprocess.Popen([sys.executable, file, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for words in cases
    ]

    def turn(process: "subprocess.Popen[str]") -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        print(file=process.stdin, flush=True)
        said = process.stdout.readline()
        if not said:
            raise SystemExit(f"{' '.join(map(str, process.args[1:]))}: ended with {process.wait()}")  # type: ignore[index]
        return float(said)

    try:
        for process in processes:
            turn(process)  # compiles
        rows: list[tuple[float, list[float]]] = []
        while len(rows) < 3 * rounds and sum(taken < QUIET for taken, _ in rows) < rounds:
            before, began = _taken_away(), time.perf_counter()
            times = [turn(process) for process in processes]
            rows.append(((_taken_away() - before) / (time.perf_counter() - began), times))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    counted = sorted(rows, key=lambda row: row[0])[:rounds]
    return [list(times) for times in zip(*(times for _, times in counted), strict=True)]


def _taken_away() -> float:
    """Seconds of its cores that this machine's host has given to others so far; 0 where the system does not say."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return int(words[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def take_turns(contender: Callable[[], Any]) -> None:
    """A turn for every line that comes in, and its seconds out."""
    for _ in sys.stdin:
        print(_turn(contender), flush=True)


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
