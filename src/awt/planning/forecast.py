"""The forecast of an experiment, stage by stage, and the refusal of one that cannot fit."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from awt.data.dataset import Description
from awt.errors import InputError
from awt.lineage.pipeline import code_of
from awt.models.zoo import build
from awt.params import Params, check_data
from awt.planning.ahead import Experiment, Foreseen, Lookout
from awt.planning.calibration import Rate
from awt.planning.facts import FLOAT, Facts
from awt.planning.schedule import Job, Workers, at_once, slots
from awt.planning.size import size
from awt.planning.work import Cost, cost
from awt.runtime.cell import Surroundings, fingerprint
from awt.runtime.executor import Executor
from awt.runtime.machines import Machine
from awt.runtime.store import Store

CELL_SECONDS = 0.2  # to read a cell's inputs and keep its files
STAGE_SECONDS = {"ray": 8.0, "serial": 3.0}  # to start Python, Ray and the workers; once a stage
PREPARE_SECONDS, REPORT_SECONDS = 5.0, 10.0
CACHED = 2  # outs are in the folder and, as copies, in DVC's cache
CHECKPOINTS = 2 * 3  # two of them, each the weights and Adam's two
GB = 1e9


@dataclass(frozen=True)
class StageForecast:
    """Of one stage; operations, memory and files are of all its cells, time and store of those not in the store."""

    name: str
    cells: int = 0
    stored: int = 0
    unknown: int = 0
    flops: float = 0.0
    memory_bytes: float = 0.0  # of the largest cell
    outs_bytes: float = 0.0
    store_bytes: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class Forecast:
    stages: tuple[StageForecast, ...]
    machines: tuple[Machine, ...]
    rates: tuple[Rate, ...]
    notes: tuple[str, ...]

    @property
    def total(self) -> StageForecast:
        summed = ("cells", "stored", "unknown", "flops", "outs_bytes", "store_bytes", "seconds")
        sums = {name: sum(getattr(stage, name) for stage in self.stages) for name in summed}
        return StageForecast("total", memory_bytes=max(stage.memory_bytes for stage in self.stages), **sums)

    def as_json(self) -> dict[str, Any]:
        return {
            "stages": [asdict(stage) for stage in self.stages],
            "total": {name: value for name, value in asdict(self.total).items() if name != "name"},
            "machines": [machine._asdict() for machine in self.machines],
            "rates": [rate._asdict() for rate in self.rates],
            "notes": list(self.notes),
        }


class Place(NamedTuple):
    """Where cells run and are kept."""

    executor: Executor
    store: Store
    machines: Sequence[Machine]
    rates: Sequence[Rate]

    def rate(self, kind: str) -> Rate:
        threads = self.executor.threads(kind)
        return next(rate for rate in self.rates if rate.threads == threads)

    def slots(self, kind: str) -> int:
        return at_once(self.executor, self.machines, kind)


def forecast(ahead: Experiment, place: Place) -> Forecast:
    """Every stage, with what is in the store already left out of the time."""
    params, data = ahead.params, ahead.data
    described = data.described()
    check_data(params, described)
    network = build(params.model, Description.of(described))
    facts = Facts(data, size(network, data.shape), max(one.bytes for one in ahead.tiles.values()))
    values = data.points * (data.pixels * data.itemsize + FLOAT + 8)
    prepare = StageForecast("prepare", outs_bytes=CACHED * values, seconds=PREPARE_SECONDS)
    looks = {name: _lookout(name, params, place) for name in ("kernel", "mask", "retrain", "evaluate")}
    ahead.kernel(looks["kernel"])
    tickets = ahead.mask(looks["mask"])
    models = ahead.retrain(looks["retrain"], tickets)
    ahead.evaluate(looks["evaluate"], tickets, models)
    found = [_stage(name, look.waves, facts, place) for name, look in looks.items()]
    report = StageForecast("report", outs_bytes=CACHED * 5e6, seconds=REPORT_SECONDS)
    stages = (prepare, *found, report)
    check_memory(stages, place.machines)
    check_disk(stages, place.store.root, Path(params.root))
    return Forecast(stages, tuple(place.machines), tuple(place.rates), tuple(_notes(stages, place, facts)))


def _lookout(stage: str, params: Params, place: Place) -> Lookout:
    executor = place.executor
    surroundings = Surroundings(fingerprint(code_of(stage, Path(params.root))), executor.surroundings.platform)
    return Lookout(lambda cell: surroundings.key(cell, executor.threads(cell.kind)), place.store)


def _stage(name: str, waves: Sequence[Sequence[Foreseen]], facts: Facts, place: Place) -> StageForecast:
    costs = [[cost(one.cell, facts) for one in wave] for wave in waves]
    cells = [one for wave in waves for one in wave]
    every = [one for wave in costs for one in wave]
    left = [found for one, found in zip(cells, every, strict=True) if one.state != "stored"]
    files = sum(one.files for one in every)
    checkpoints = 0.0
    if name in ("mask", "retrain") and left:
        checkpoints = min(len(left), place.slots(name)) * CHECKPOINTS * FLOAT * facts.size.weights
    # Ray is started for the first cell that must be computed
    start = STAGE_SECONDS[place.executor.runtime.executor if left else "serial"]
    return StageForecast(
        name,
        cells=len(cells),
        stored=sum(one.state == "stored" for one in cells),
        unknown=sum(one.state == "unknown" for one in cells),
        flops=sum(one.flops for one in every),
        memory_bytes=max(one.memory for one in every),
        outs_bytes=CACHED * files,
        store_bytes=sum(one.files for one in left) + checkpoints,
        seconds=start + _wall(waves, costs, place),
    )


def _wall(waves: Sequence[Sequence[Foreseen]], costs: Sequence[Sequence[Cost]], place: Place) -> float:
    """The waves one after the other: a stage waits for all cells of one before it describes the next."""
    workers: dict[int, Workers] = {}  # by threads, since a process keeps its number of them
    total = 0.0
    for wave, found in zip(waves, costs, strict=True):
        kind = wave[0].cell.kind
        rate = place.rate(kind)
        some = workers.setdefault(rate.threads, Workers(place.slots(kind), rate.compile_seconds))
        jobs = [
            Job(CELL_SECONDS + one.flops / rate.flops, one.programs)
            for foreseen, one in zip(wave, found, strict=True)
            if foreseen.state != "stored"
        ]
        total += some.wall(jobs)
    return total


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


def check_memory(stages: Sequence[StageForecast], machines: Sequence[Machine]) -> None:
    largest = max(machine.memory for machine in machines)
    for stage in stages:
        if stage.memory_bytes > largest:
            raise InputError(
                f"params.yaml: a cell of the {stage.name} stage takes {stage.memory_bytes / GB:.3g} GB of memory, more "
                f"than the {largest / GB:.3g} GB of the largest machine: choose {_SMALLER[stage.name]}"
            )


_SMALLER = {
    "kernel": "a smaller search.batch, kernel.memory_gb, data.validation or data.limit",
    "mask": "a smaller search.batch or data.limit, or another search.estimator",
    "retrain": "a smaller retrain.batch, data.validation or data.limit",
    "evaluate": "a smaller evaluate.chunk, evaluate.sanity, evaluate.dynamics or kernel.memory_gb",
}


def check_disk(stages: Sequence[StageForecast], store: Path, repository: Path) -> None:
    """Outs go to the repository, cells to the store: often, but not always, on the same disk."""
    outs, cells = (sum(getattr(stage, name) for stage in stages) for name in ("outs_bytes", "store_bytes"))
    needs = {"store": (store, cells), "repository": (repository, outs)}
    if store.stat().st_dev == repository.stat().st_dev:
        needs = {"store and repository": (store, cells + outs)}
    for name, (path, needed) in needs.items():
        free = shutil.disk_usage(path).free
        if needed > free:
            raise InputError(
                f"{path.resolve()} ({name}): the experiment takes {needed / GB:.3g} GB of disk, and {free / GB:.3g} GB "
                "are free: free some (`awt store gc` drops old cells), or set runtime.store to another disk"
            )


def _notes(stages: Sequence[StageForecast], place: Place, facts: Facts) -> list[str]:
    """What the figures rest on, and what might go wrong."""
    notes = [
        "upper bounds: every point withstands every attack, no unit of a ticket is cut off",
        f"beside cells: {CELL_SECONDS:g} s a cell, {STAGE_SECONDS[place.executor.runtime.executor]:g} s a stage, "
        "compilation once a worker and program",
    ]
    for rate in place.rates:
        if rate.share < 0.8:
            notes.append(
                f"the machine is busy: the calibration got {rate.share:.0%} of a core; times are for a free machine"
            )
            break
    for stage in stages:
        beside = place.slots({"kernel": "teacher"}.get(stage.name, stage.name)) if stage.cells else 0
        total = sum(machine.memory for machine in place.machines)
        if beside * stage.memory_bytes > total:
            notes.append(
                f"{stage.name}: {beside} cells at once may take {beside * stage.memory_bytes / GB:.3g} GB of "
                f"{total / GB:.3g}: set memory_gb in runtime.resources, so that fewer run"
            )
    return notes
