"""What machines and disks cannot hold: refused before anything runs, or pointed out."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from awt.errors import InputError
from awt.planning.schedule import slots
from awt.runtime.executor import Executor
from awt.runtime.machines import Machine

GB = 1e9
SMALLER = {  # by kind of cell, what takes less memory
    "evaluate": "a smaller chunk_points or sanity_points",
    "tile": "a smaller tile_memory_gb",
}
SMALLER_BATCH = "a smaller batch, or fewer points (train_limit, validation_share)"


def check_resources(executor: Executor, machines: Sequence[Machine]) -> None:
    """Refuses cells that no machine could ever run."""
    for kind in ("default", *executor.runtime.resources):
        wanted = executor.wanted(kind)
        if slots(machines, wanted) == 0:
            asked = f"{wanted.cpus:g} CPUs, {wanted.gpus:g} GPUs, {wanted.memory_gb:g} GB"
            there = "; ".join(f"{one.cpus:g} CPUs, {one.gpus:g} GPUs, {one.memory / 2**30:.1f} GB" for one in machines)
            raise InputError(
                f"params.yaml: runtime.resources: a {kind} cell asks for {asked}, which no machine has ({there}): "
                "ask for less, or run on a larger one"
            )


def check_memory(largest: Mapping[str, float], machines: Sequence[Machine]) -> None:
    """Refuses kinds of cells, by the memory of their largest, that no machine could hold."""
    room = max(machine.memory for machine in machines)
    for kind, memory in largest.items():
        if memory > room:
            raise InputError(
                f"params.yaml: a {kind} cell takes {memory / GB:.3g} GB of memory, more than the {room / GB:.3g} GB of "
                f"the largest machine: choose {SMALLER.get(kind, SMALLER_BATCH)}"
            )


def check_disk(outs_bytes: float, store_bytes: float, store: Path, repository: Path) -> None:
    """Refuses more than is free. Outs go to the repository, cells to the store: often on the same disk, not always."""
    needs = {"store": (store, store_bytes), "repository": (repository, outs_bytes)}
    if store.stat().st_dev == repository.stat().st_dev:
        needs = {"store and repository": (store, store_bytes + outs_bytes)}
    for name, (path, needed) in needs.items():
        free = shutil.disk_usage(path).free
        if needed > free:
            raise InputError(
                f"{path.resolve()} ({name}): the experiment takes {needed / GB:.3g} GB of disk, and {free / GB:.3g} GB "
                "are free: free some (`awt store gc` drops old cells), or set runtime.store to another disk"
            )


def crowds(largest: Mapping[str, float], beside: Mapping[str, int], machines: Sequence[Machine]) -> Iterator[str]:
    """Notes on kinds of cells of which fewer fit than will run at once."""
    total = sum(machine.memory for machine in machines)
    for kind, memory in largest.items():
        if beside[kind] * memory > total:
            yield (
                f"{kind}: {beside[kind]} cells at once may take {beside[kind] * memory / GB:.3g} GB of "
                f"{total / GB:.3g}: set memory_gb in runtime.resources, so that fewer run"
            )
