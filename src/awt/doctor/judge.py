"""What to make of a machine's looks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from awt.doctor.finding import Finding
from awt.workflows.experiment import Experiment
from awt.workflows.tickets.params import Kernel

GB = 1e9
NEEDED = 0.1 * GB  # of a disk, or nothing can be done there
LITTLE = 2 * GB
RAY_KEEPS_FREE = 0.05  # of a disk: Ray spills no results to one that is fuller (local_fs_capacity_threshold)
SHARED_MEMORY = 0.2 * GB  # Ray takes a folder on the disk for its results, and says so only in its log, below this
WORKER_GB = 0.35  # of a worker that has imported JAX, beside its cell
CLOCK = 5.0  # seconds
INSTALL = "`pip install --no-deps -r requirements.lock`"
NUMERIC_PACKAGES = ("jax", "jaxlib", "numpy", "optax")  # on whose versions the numbers depend


class Node(NamedTuple):
    """A node of the cluster: its name, what Ray has there, and what it answered, or why it did not."""

    name: str
    resources: Mapping[str, float]
    looks: Mapping[str, Any] | None
    error: str = ""
    asked: float = 0.0  # when, by the driver's clock
    answered: float = 0.0


def judge_packages(
    versions: Mapping[str, str | None], wanted: Mapping[str, str | None], whose: str, decisive: Collection[str]
) -> Iterator[Finding]:
    """Decisive packages must be the very same; of others, only a missing one stops the work."""
    differing = {name: version for name, version in wanted.items() if versions[name] != version and version is not None}
    serious = [name for name in differing if name in decisive or versions[name] is None]
    for state, names in (("FAIL", serious), ("warning", [name for name in differing if name not in serious])):
        if names:
            said = ", ".join(f"{name} {versions[name] or 'is missing'} ({differing[name]} {whose})" for name in names)
            yield Finding("packages", "FAIL" if state == "FAIL" else "warning", f"{said}: {INSTALL} there")
    if not differing:
        yield Finding("packages", "ok", f"{len(wanted)} packages have the versions {whose}")


def judge_rooms(rooms: Mapping[str, Mapping[str, int]], check: str, for_ray: bool) -> Iterator[Finding]:
    for folder, room in rooms.items():
        free, share = room["free"], room["free"] / max(room["total"], 1)
        if free < NEEDED or room["files"] == 0:
            full = "no more files" if room["files"] == 0 else f"{free / GB:.3g} GB"
            yield Finding(check, "FAIL", f"the disk of {folder} has room for {full}: free some")
        elif for_ray and share < RAY_KEEPS_FREE:
            yield Finding(
                check, "warning", f"the disk of {folder} is {1 - share:.0%} full: Ray spills nothing to it; free some"
            )
        elif free < LITTLE:
            yield Finding(
                check,
                "warning",
                f"the disk of {folder} has only {free / GB:.3g} GB left; `awt plan` says what is needed",
            )
    if not any(room["free"] < LITTLE for room in rooms.values()):
        free = min(room["free"] for room in rooms.values())
        yield Finding(check, "ok", f"{free / GB:.0f} GB free")


def judge_looks(looks: Mapping[str, Any]) -> Iterator[Finding]:
    """Of any machine on which cells run."""
    if looks["import"]:
        yield Finding("code", "FAIL", f"awt cannot be imported: {looks['import']}; {INSTALL} there")
    else:
        yield Finding("code", "ok", "awt can be imported")
    yield from judge_rooms(looks["rooms"], "temporary", for_ray=True)
    shared = looks["shared_memory"]
    if shared is not None and shared < SHARED_MEMORY:
        yield Finding(
            "temporary",
            "warning",
            f"/dev/shm has only {shared / GB:.3g} GB: Ray moves results over the disk; a container takes --shm-size",
        )


def judge_node(
    node: Node, own: Mapping[str, Any], asked: Experiment | None, decisive: Collection[str] = NUMERIC_PACKAGES
) -> Iterator[Finding]:
    """A node's findings; `own` are this machine's looks, and `decisive` the packages that cells' keys have."""
    looks = node.looks
    if looks is None:
        yield Finding("node", "FAIL", f"{node.error}: restart Ray there, or take it out of the cluster")
        return
    if looks["python"].split(".")[:2] != own["python"].split(".")[:2]:
        yield Finding("packages", "FAIL", f"Python {looks['python']}, here {own['python']}: install the same")
    yield from judge_packages(looks["versions"], own["versions"], "here", decisive)
    yield from judge_looks(looks)
    if asked is not None:
        yield from judge_devices(node.resources.get("GPU", 0), looks["jax"])
        yield from judge_memory(node.resources.get("CPU", 0), node.resources.get("memory", 0), asked)
    yield from _judge_store(looks["store"])
    yield from _judge_clock(node)


def judge_memory(cpus: float, memory: float, asked: Experiment) -> Iterator[Finding]:
    """Whether as many tiles as run at once fit: nothing is said where no cell runs, or none computes tiles."""
    kernel, resources = getattr(asked.params, "kernel", None), asked.params.runtime.resources
    if not isinstance(kernel, Kernel):
        return
    wanted = resources.get("tile", resources.get("default"))
    tiles = int(cpus / (wanted.cpus if wanted else 1))
    each = kernel.tile_memory_gb + WORKER_GB
    if tiles and each * GB > memory:
        yield Finding(
            "memory",
            "FAIL",
            f"a tile may take {each:.3g} GB (kernel.tile_memory_gb: {kernel.tile_memory_gb:g}), and "
            f"{memory / GB:.3g} GB are there: lower kernel.tile_memory_gb",
        )
    elif tiles and tiles * each * GB > memory:
        yield Finding(
            "memory",
            "warning",
            f"{tiles} tiles at once may take {tiles * each:.3g} GB, and {memory / GB:.3g} GB are there: lower "
            f"kernel.tile_memory_gb, or have runtime.resources.tile ask for memory_gb: {each:.3g}",
        )
    elif tiles:
        yield Finding("memory", "ok", f"{memory / GB:.3g} GB, of which {tiles} tiles take {tiles * each:.3g} at most")


def judge_devices(gpus: float, jax: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Ray believes what it was told of GPUs; what counts is whether JAX can use them."""
    if jax is None:
        return
    if "error" in jax:
        yield Finding("device", "FAIL", f"JAX does not start: {jax['error']}; `pip install -e '.[cuda]'` there")
    elif jax["backend"] != "gpu" or jax["devices"] < gpus:
        there = jax["devices"] if jax["backend"] == "gpu" else 0
        yield Finding(
            "device",
            "FAIL",
            f"Ray has {gpus:g} GPUs there, and JAX sees {there}: `pip install -e '.[cuda]'` there, start Ray with "
            "the right --num-gpus, or set runtime.device: cpu",
        )
    else:
        yield Finding("device", "ok", f"JAX sees {jax['devices']} GPUs")


def judge_processors(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Of those on whose CPUs cells run: two kinds of them may add in another order."""
    kinds = {node.looks["processor"] for node in nodes if node.looks and node.resources.get("CPU", 0)}
    if len(kinds) > 1:
        yield Finding(
            "device",
            "warning",
            f"nodes have processors of {len(kinds)} kinds ({'; '.join(sorted(kinds))}), on which a cell's last bits "
            "depend: for results that are the same to the byte, use nodes of one kind",
        )


def _judge_store(seen: str | None) -> Iterator[Finding]:
    if seen == "shared":
        yield Finding(
            "store", "ok", "the driver's store is seen there: lost cells go on elsewhere, from their last checkpoint"
        )
    elif seen == "own":
        yield Finding(
            "store",
            "warning",
            "the driver's store is not seen there: unfinished cells of a lost node start anew; "
            "name a shared place with runtime.store to keep checkpoints",
        )
    elif seen is not None:
        yield Finding(
            "store", "FAIL", f"no checkpoints can be kept there ({seen}): name another place with runtime.store"
        )


def _judge_clock(node: Node) -> Iterator[Finding]:
    looks = node.looks or {}
    early, late = node.asked - looks["time"], looks["time"] - node.answered
    off = max(early, late, 0.0)
    text = "as here" if off < CLOCK else f"{off:.0f} s {'slow' if early > late else 'fast'}; nothing depends on it"
    yield Finding("clock", "ok", text)
