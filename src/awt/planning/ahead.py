"""The cells that each stage will run, described as the stages describe them, and which of them the store has.

A cell's key is known when its inputs are: when the cells before it are in the store, or their stage's out is there.
Where an input is not known yet, a name that no digest is takes its place; such cells are told apart, and counted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from awt.evaluation.cells import attack_cell, chunks, dynamics_cell, sanity_cell
from awt.kernels.cells import PointSet, Request, Subject, plan_cell, points_cell, tile_cell
from awt.kernels.dense_cells import (
    dense_side_cell,
    has_dense_side,
    has_teacher,
    initial_cell,
    teacher_cell,
    views_cell,
)
from awt.params import Params
from awt.planning.calibration import Tiles
from awt.planning.outline import Outline
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry, Store
from awt.tickets.cells import Name, grid, mask_cell, takes_after
from awt.training.cells import retrain_cell

UNKNOWN = "unknown"
State = Literal["stored", "missing", "unknown"]


@dataclass(frozen=True)
class Foreseen:
    """A cell; its name in the store, where `state` is not "unknown"."""

    cell: Cell
    key: str
    state: State
    entry: Entry | None = None

    def source(self, name: str) -> Source:
        """A file of it as the input of another cell."""
        return not_known(f"{self.key} {name}") if self.entry is None else self.entry.source(name)


def not_known(name: str) -> Source:
    return Source(Path(UNKNOWN), f"{UNKNOWN} {name}")


@dataclass
class Lookout:
    """Stands in for a stage's executor: cells in, what is known of them out; keeps them by the waves they come in."""

    key: Callable[[Cell], str]
    store: Store
    waves: list[list[Foreseen]] = field(default_factory=list)
    _seen: dict[str, Foreseen] = field(default_factory=dict)

    def run(self, cells: Sequence[Cell]) -> list[Foreseen]:
        found = [self._look(cell) for cell in cells]
        fresh = {one.key: one for one in found if one.key not in self._seen}
        self._seen |= fresh
        if fresh:
            self.waves.append(list(fresh.values()))
        return found

    def _look(self, cell: Cell) -> Foreseen:
        key = self.key(cell)
        if key in self._seen:
            return self._seen[key]
        if any(source.sha256.startswith(UNKNOWN) for source in cell.inputs.values()):
            return Foreseen(cell, key, "unknown")
        entry = self.store.find(key)
        return Foreseen(cell, key, "missing" if entry is None else "stored", entry)


class Ticket(NamedTuple):
    """A mask as the later stages see it; `about` is its line in their index."""

    about: dict[str, Any]
    mask: Source
    start: Source


@dataclass(frozen=True)
class Experiment:
    """What the stages have in common; `tiles` are by the label of the plan cell that chooses them, `sources` the kernel
    stage's files by method, seed and name."""

    params: Params
    data: Outline
    tiles: Mapping[str, Tiles] = field(default_factory=dict)
    initial: dict[int, Source] = field(default_factory=dict)
    sources: dict[tuple[str, int], dict[str, Source]] = field(default_factory=dict)

    @property
    def dataset(self) -> Source:
        return self.data.prepared or not_known("dataset.npz")

    @property
    def described(self) -> dict[str, Any]:
        return {name: self.data.described()[name] for name in ("shape", "classes", "mean", "std")}

    def kernel(self, look: Lookout) -> None:
        """As stages/kernel.py does; what it finds is kept for the stages after it."""
        params, seeds, dataset = self.params, self.params.seeds, {"dataset": self.dataset}
        found = look.run([initial_cell(params, seed, self.dataset) for seed in seeds])
        self.initial.update((seed, one.source("initial.npz")) for seed, one in zip(seeds, found, strict=True))
        methods = [method for method in params.search.methods if has_teacher(params, method)]
        names = [(method, seed) for method in methods for seed in seeds]
        self.sources.update((name, dataset | {"teacher": self.initial[name[1]]}) for name in names)
        trained = [name for name in names if params.search.recipe(name[0]).teacher_epochs]
        cells = [teacher_cell(params, *name, dataset | {"initial": self.initial[name[1]]}) for name in trained]
        for name, one in zip(trained, look.run(cells), strict=True):
            self.sources[name]["teacher"] = one.source("model.npz")
        names = [name for name in names if has_dense_side(params, name[0])]
        for file, cell in (("dense", dense_side_cell), ("views", views_cell)):
            ones = look.run([cell(params, *name, dict(self.sources[name])) for name in names])
            for name, one in zip(names, ones, strict=True):
                self.sources[name][file] = one.source(f"{file}.npz")
        reference = self._reference(look)
        subjects = [
            Subject("dense", 1.0, seed, False, params.model, self.described, self.initial[seed]) for seed in seeds
        ]
        self._grams(look, [Request(subject, reference) for subject in subjects])

    def mask(self, look: Lookout) -> list[Ticket]:
        """As stages/mask.py does: those that take after another come second."""
        found: dict[Name, Foreseen] = {}
        for after in (False, True):
            names = [name for name in grid(self.params) if (takes_after(self.params, name[0]) is not None) == after]
            cells = [mask_cell(self.params, name, self._mask_inputs(name, found)) for name in names]
            found |= dict(zip(names, look.run(cells), strict=True))
        return [self._ticket(name, found[name]) for name in grid(self.params)]

    def retrain(self, look: Lookout, tickets: list[Ticket]) -> list[Source]:
        """The trained networks."""
        cells = []
        for ticket in tickets:
            kept = {} if ticket.about["trains_all"] else {"mask": ticket.mask}
            cells.append(
                retrain_cell(self.params, ticket.about, {"dataset": self.dataset, "initial": ticket.start} | kept)
            )
        return [one.source("model.npz") for one in look.run(cells)]

    def evaluate(self, look: Lookout, tickets: list[Ticket], models: list[Source]) -> None:
        params, asked = self.params, self.params.evaluate
        inputs = [{"dataset": self.dataset, "model": model} for model in models]
        pieces = chunks(asked.attacked(self.data.counts["test"]), asked.chunk)
        jobs = [(ticket.about, given, chunk) for ticket, given in zip(tickets, inputs, strict=True) for chunk in pieces]
        for suite in asked.suites:
            before: list[dict[str, Source]] = [{} for _ in jobs]
            for number, attack in enumerate(asked.suite(suite)):
                cells = [
                    attack_cell(params, about, number, attack, chunk, given | last)
                    for (about, given, chunk), last in zip(jobs, before, strict=True)
                ]
                before = [{"before": one.source("points.npz")} for one in look.run(cells)]
        if asked.sanity:
            look.run([sanity_cell(params, one.about, given) for one, given in zip(tickets, inputs, strict=True)])
        if asked.dynamics:
            look.run([self._dynamics_cell(one) for one in tickets if _is_sparse(one.about)])
        reference = self._reference(look)
        self._grams(
            look,
            [
                Request(self._subject(ticket, when, weights), reference)
                for ticket, model in zip(tickets, models, strict=True)
                for when, weights in (("initial", self.initial[ticket.about["seed"]]), ("trained", model))
            ],
        )

    def plans(self) -> list[Cell]:
        """The cells that choose the sides of tiles, of a dense and of a sparse network: they need no inputs."""
        anything, masks = not_known("weights"), (None, not_known("mask"))
        points = PointSet("train", self.params.kernel.reference, anything)
        subjects = [
            Subject("dense", 1.0, 0, False, self.params.model, self.described, anything, mask) for mask in masks
        ]
        return [plan_cell(Request(subject, points), self.params.kernel.memory_gb) for subject in subjects]

    def _reference(self, look: Lookout) -> PointSet:
        count = self.params.kernel.reference
        [points] = look.run([points_cell("train", count, self.dataset)])
        return PointSet("train", count, points.source("x.npy"))

    def _grams(self, look: Lookout, requests: list[Request]) -> None:
        plans = [plan_cell(request, self.params.kernel.memory_gb) for request in requests]
        look.run(plans)
        indices = [request.index(self.tiles[plan.label].side) for request, plan in zip(requests, plans, strict=True)]
        look.run(
            [
                tile_cell(request, tile, index.side)
                for request, index in zip(requests, indices, strict=True)
                for tile in index.tiles()
            ]
        )

    def _mask_inputs(self, name: Name, masks: dict[Name, Foreseen]) -> dict[str, Source]:
        method, density, seed = name
        found = {"dataset": self.dataset, "initial": self.initial[seed]} | self.sources.get((method, seed), {})
        if (other := takes_after(self.params, method)) is not None:
            found["other"] = masks[other, density, seed].source("mask.npz")
        return found

    def _ticket(self, name: Name, found: Foreseen) -> Ticket:
        """A method's ticket starts at the initial weights, unless it says otherwise."""
        method, density, seed = name
        base = self.params.search.base(method)
        searched = base in ("dns", "iwi") or (base == "awt" and self.params.search.recipe(method).start == "searched")
        about = {"method": method, "density": density, "seed": seed, "trains_all": base == "iwi"}
        start = found.source("start.npz") if searched else self.initial[seed]
        return Ticket(about, found.source("mask.npz"), start)

    def _subject(self, ticket: Ticket, when: str, weights: Source) -> Subject:
        about = ticket.about
        mask = None if about["trains_all"] else ticket.mask
        name = about["method"], about["density"], about["seed"]
        return Subject(*name, when == "trained", self.params.model, self.described, weights, mask)

    def _dynamics_cell(self, ticket: Ticket) -> Cell:
        initial = self.initial[ticket.about["seed"]]
        return dynamics_cell(
            self.params, ticket.about, {"dataset": self.dataset, "initial": initial, "mask": ticket.mask}
        )


def _is_sparse(about: dict[str, Any]) -> bool:
    return about["method"] != "dense" and not about["trains_all"]
