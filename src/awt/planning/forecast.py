"""The forecast of an experiment, stage by stage: what its cells take, as they are scheduled over the machines."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

from awt.artifacts import decode_json
from awt.attacks.ball import Threat
from awt.options import as_json
from awt.planning.calibration import Rate, calibrate
from awt.planning.dry import Absent, Lookout, Plan, StageRun, State, dry_run
from awt.planning.facts import stored_bytes
from awt.planning.limits import check_disk, check_memory, check_resources, crowds
from awt.planning.past import Past
from awt.planning.schedule import Job, Workers, at_once
from awt.planning.scratch import compute
from awt.planning.work import PLAN, Cost, cost
from awt.runtime.cell import Cell
from awt.runtime.executor import Executor
from awt.runtime.machines import Machine
from awt.runtime.store import Store
from awt.services.training import RETRAIN
from awt.training.options import Training
from awt.workflows.experiment import Experiment

CELL_SECONDS = 0.2  # to read a cell's inputs and keep its files
STAGE_SECONDS = {"ray": 8.0, "serial": 3.0}  # to start Python, Ray and the workers; once a stage
CACHED = 2  # outs are in the folder and, as copies, in DVC's cache


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
    untimed: int = 0  # cells whose time nobody knows
    is_whole: bool = True  # whether the stage will have no other cells


@dataclass(frozen=True)
class Forecast:
    stages: tuple[StageForecast, ...]
    machines: tuple[Machine, ...]
    rates: tuple[Rate, ...]
    notes: tuple[str, ...]

    @property
    def total(self) -> StageForecast:
        summed = ("cells", "stored", "unknown", "flops", "outs_bytes", "store_bytes", "seconds", "untimed")
        sums = {name: sum(getattr(stage, name) for stage in self.stages) for name in summed}
        largest = max(stage.memory_bytes for stage in self.stages)
        return StageForecast(
            "total", memory_bytes=largest, is_whole=all(stage.is_whole for stage in self.stages), **sums
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "stages": [asdict(stage) for stage in self.stages],
            "total": {name: value for name, value in asdict(self.total).items() if name != "name"},
            "machines": [machine._asdict() for machine in self.machines],
            "rates": [rate._asdict() for rate in self.rates],
            "notes": list(self.notes),
        }


class Work(NamedTuple):
    """A cell of the plan with what it takes; `seconds`, where finished cells tell them."""

    cell: Cell
    state: State
    cost: Cost
    seconds: float | None

    @property
    def needs_rate(self) -> bool:
        """Whether its time is worked out from its operations."""
        return self.state != "stored" and self.seconds is None and self.cost.flops is not None

    @property
    def is_untimed(self) -> bool:
        return self.state != "stored" and self.seconds is None and self.cost.flops is None


class Place(NamedTuple):
    """Where cells run."""

    executor: Executor
    machines: Sequence[Machine]
    rates: Sequence[Rate] = ()

    def slots(self, kind: str) -> int:
        return at_once(self.executor, self.machines, kind)

    def wall(self, waves: Iterable[Sequence[Work]]) -> float:
        """The waves one after the other: a stage waits for all cells of one before it describes the next."""
        workers: dict[int, Workers] = {}  # by threads, since a process keeps its number of them
        total = 0.0
        for wave in waves:
            for kind in dict.fromkeys(work.cell.kind for work in wave):
                threads = self.executor.threads(kind)
                rate = next((rate for rate in self.rates if rate.threads == threads), None)
                some = workers.setdefault(threads, Workers(self.slots(kind), rate.compile_seconds if rate else 0.0))
                total += some.wall([_job(work, rate) for work in wave if work.cell.kind == kind])
        return total


def _job(work: Work, rate: Rate | None) -> Job:
    if not work.needs_rate or rate is None:
        return Job(CELL_SECONDS + (work.seconds or 0.0))
    return Job(CELL_SECONDS + (work.cost.flops or 0.0) / rate.flops, work.cost.programs)


def forecast(asked: Experiment, executor: Executor, store: Store) -> Forecast:
    """Of the workflow's stages as they would run now. The machine is measured only where cells are left whose time
    their operations tell. The executor has a passing store."""
    machines = executor.machines()
    check_resources(executor, machines)
    plan = dry_run(asked, Lookout(executor.key, store, partial(compute, executor)))
    works = weigh(plan, executor, Past(store, executor.surroundings.platform))
    kinds, training = _kinds_to_measure(works, executor), _training(works, plan.data)
    rates = calibrate(executor, machines, training, kinds) if kinds and training else []
    found = sum_up(plan, works, Place(executor, machines, rates))
    check_disk(found.total.outs_bytes, found.total.store_bytes, store.root, asked.repository)
    return found


def weigh(plan: Plan, executor: Executor, past: Past) -> dict[str, Work]:
    """The plan's cells with what they take, by key."""
    entries = [one.entry for one in plan.cells if one.cell.function == PLAN and not isinstance(one.entry, Absent)]
    chosen = [decode_json(entry.read("plan.json"), "plan.json") for entry in entries]
    tile_bytes = max((one["bytes"] for one in chosen), default=0.0)
    works = {}
    for one in plan.cells:
        price, seconds = cost(one.cell, plan.data, tile_bytes), None
        if one.state != "stored":
            threads = executor.threads(one.cell.kind)
            seconds = past.like(one.cell, threads)
            if seconds is None and price.flops is None:
                seconds = past.same_code(one.cell, threads)
        works[one.key] = Work(one.cell, one.state, price, seconds)
    return works


def _kinds_to_measure(works: Mapping[str, Work], executor: Executor) -> list[str]:
    """Of each number of threads, the kind of cells with the most operations."""
    flops: dict[str, float] = defaultdict(float)
    for work in works.values():
        if work.needs_rate:
            flops[work.cell.kind] += work.cost.flops or 0.0
    kinds = {executor.threads(kind): kind for kind in sorted(flops, key=lambda kind: flops[kind])}
    return [kind for _, kind in sorted(kinds.items())]


def _training(works: Mapping[str, Work], data: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The largest of the plan's trainings, as its cell has it; else a natural one of its largest cell's network."""
    ranked = sorted(works.values(), key=lambda work: (work.cell.function == RETRAIN, work.cost.flops or 0.0))
    if data is None or not ranked or "model" not in ranked[-1].cell.params:
        return None
    natural = Training(
        objective="awt.training.objectives.natural:OBJECTIVE", epochs=1, batch=min(64, data["counts"]["train"])
    )
    given = {"threat": as_json(Threat(eps=0.0)), "training": as_json(natural), **ranked[-1].cell.params}
    about = {name: data[name] for name in ("shape", "classes", "counts", "mean", "std")}
    return {name: given[name] for name in ("model", "threat", "training")} | {"data": about}


def sum_up(plan: Plan, works: Mapping[str, Work], place: Place) -> Forecast:
    """By stage; what one leaves in the store is there for those after it."""
    stages, done = [], set[str]()
    for run in plan.runs:
        stages.append(_stage(run, works, done, place, plan.data))
        done |= {one.key for one in run.cells}
    largest: dict[str, float] = {}
    for work in works.values():
        largest[work.cell.kind] = max(work.cost.memory, largest.get(work.cell.kind, 0.0))
    check_memory(largest, place.machines)
    numbers = Counter(work.cell.kind for work in works.values())
    beside = {kind: min(place.slots(kind), number) for kind, number in numbers.items()}
    notes = [*_notes(works, place), *crowds(largest, beside, place.machines), *_unforeseen(plan.runs)]
    return Forecast(tuple(stages), tuple(place.machines), tuple(place.rates), tuple(notes))


def _stage(
    run: StageRun, works: Mapping[str, Work], done: Set[str], place: Place, data: Mapping[str, Any] | None
) -> StageForecast:
    waves = [[works[one.key] for one in wave if one.state != "stored" and one.key not in done] for wave in run.waves]
    left = [work for wave in waves for work in wave]
    cells = [works[one.key] for one in run.cells]
    files = sum(work.cost.files for work in cells)
    if run.stage.foresee is not None and data is not None:
        files += stored_bytes(data)
    return StageForecast(
        run.stage.name,
        cells=len(cells),
        stored=sum(work.state == "stored" for work in cells),
        unknown=sum(work.state == "unknown" for work in cells),
        flops=sum(work.cost.flops or 0.0 for work in cells),
        memory_bytes=max((work.cost.memory for work in cells), default=0.0),
        outs_bytes=CACHED * files,
        store_bytes=sum(work.cost.files for work in left) + _checkpoints(left, place),
        # Ray is started for the first cell that must be computed
        seconds=STAGE_SECONDS[place.executor.runtime.executor if left else "serial"] + place.wall(waves),
        untimed=sum(work.is_untimed for work in left),
        is_whole=not run.unforeseen,
    )


def _checkpoints(works: Sequence[Work], place: Place) -> float:
    """Bytes of those that cells have at once; finished cells have none."""
    total = 0.0
    for kind in {work.cell.kind for work in works}:
        sizes = sorted((work.cost.checkpoints for work in works if work.cell.kind == kind), reverse=True)
        total += sum(sizes[: place.slots(kind)])
    return total


def _notes(works: Mapping[str, Work], place: Place) -> Iterator[str]:
    """What the figures rest on."""
    if any(work.cost.flops for work in works.values()):
        yield "upper bounds: every point withstands every attack, no unit of a ticket is cut off"
    yield (
        f"beside cells: {CELL_SECONDS:g} s a cell, {STAGE_SECONDS[place.executor.runtime.executor]:g} s a stage, "
        "compilation once a worker and program"
    )
    if alike := sum(work.seconds is not None for work in works.values()):
        yield f"{alike} cells are taken to last as long as finished ones like them did"
    for function, number in Counter(work.cell.function for work in works.values() if work.is_untimed).items():
        yield f"{number} cells of {function} have no known cost, and none has run yet: times are without them"
    if any(rate.share < 0.8 for rate in place.rates):
        share = min(rate.share for rate in place.rates)
        yield f"the machine is busy: the calibration got {share:.0%} of a core; times are for a free machine"


def _unforeseen(runs: Sequence[StageRun]) -> Iterator[str]:
    for number, run in enumerate(runs):
        if run.unforeseen:
            others = ", ".join(other.stage.name for other in runs[number + 1 :])
            yield f"{run.stage.name} is not known in full: {run.unforeseen}{f'; nor is {others}' if others else ''}"
            return
