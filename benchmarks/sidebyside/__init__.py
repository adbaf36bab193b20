"""What the benchmarks share: contenders in turn, each comparison in a process of its own, memory and time limited."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

MEMORY_GB = 16  # a rival that needs more counts as null
MINUTES = 10  # and so does one that takes longer
TURN = 0.5  # seconds that a contender's turn lasts at least


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
            runs, began = 0, time.perf_counter()
            while not runs or time.perf_counter() - began < TURN:
                jax.block_until_ready(contender())
                runs += 1
            found.append((time.perf_counter() - began) / runs)
    return times


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
