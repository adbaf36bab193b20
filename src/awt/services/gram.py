"""The Gram service, for drivers: Gram matrices over any points, as cells that plan tiles and compute them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from awt.artifacts import decode_json, encode_json
from awt.attacks.ball import Threat
from awt.attacks.pgd import Attack
from awt.kernels.tiles import INDEX, Gram, Index, Shape, Tile
from awt.models.architecture import Model
from awt.models.registry import resolved
from awt.names import TicketName
from awt.options import as_json
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry

Run = Callable[[Sequence[Cell]], list[Entry]]
Engine = Literal["exact", "neural-tangents"]
INFINITE = "infinite"  # a method's place for the dense network of infinite width


@dataclass(frozen=True)
class Subject:
    """A network whose kernel is asked for, dense or with the mask of a method, at initialisation or trained."""

    method: str
    density: float
    seed: int
    trained: bool
    model: Model
    data: Mapping[str, Any]  # what the network knows of it: see awt.data.dataset.described
    weights: Source
    mask: Source | None = None

    @property
    def name(self) -> str:
        return f"{self.ticket}{' trained' if self.trained else ''}"

    @property
    def ticket(self) -> TicketName:
        return TicketName(self.method, self.density, self.seed)

    @property
    def tags(self) -> dict[str, Any]:
        return {**self.ticket.tags, "when": "trained" if self.trained else "initial"}

    def params(self) -> dict[str, Any]:
        return {"model": as_json(resolved(self.model)), "data": dict(self.data)}

    def inputs(self) -> dict[str, Source]:
        return {"weights": self.weights} | ({} if self.mask is None else {"mask": self.mask})


@dataclass(frozen=True)
class PointSet:
    """Points in a file, [n, height, width, channels]: the first of a part of the data set, or their attacked selves."""

    part: str
    count: int
    x: Source
    adversarial: bool = False


@dataclass(frozen=True)
class Request:
    """A Gram matrix of a network, between a set of points and itself or, with `columns`, another."""

    subject: Subject
    rows: PointSet
    columns: PointSet | None = None
    shape: Shape = "trace"
    projected: bool = True  # of a sparse network: gradients through kept weights only

    @property
    def counts(self) -> tuple[int, int]:
        return self.rows.count, (self.columns or self.rows).count

    def index(self, side: int) -> Index:
        subject, sets = self.subject, (self.rows, self.columns or self.rows)
        about = {name: getattr(subject, name) for name in ("method", "density", "seed", "trained")}
        about |= {"projected": self.projected}
        for name, points in zip(("rows", "columns"), sets, strict=True):
            about[name] = {"part": points.part, "adversarial": points.adversarial}
        return Index(*self.counts, side, self.columns is None, self.shape, subject.data["classes"], about)

    @property
    def engine(self) -> Engine:
        """Who computes it fastest: of empirical kernels, masked or not, our own (benchmarks/kernels.py)."""
        return "neural-tangents" if self.subject.method == INFINITE else "exact"

    def params(self) -> dict[str, Any]:
        projected = self.projected or self.subject.mask is None  # the kernel of a dense network is the same either way
        return self.subject.params() | {"shape": self.shape, "projected": projected, "engine": self.engine}


def points_cell(part: str, count: int, dataset: Source) -> Cell:
    """The first points of a part of the data set."""
    return Cell(
        kind="points",
        label=f"points {part} {count}",
        function="awt.cells.points:natural",
        params={"part": part, "count": count},
        inputs={"dataset": dataset},
    )


def adversarial_cell(threat: Threat, attack: Attack, subject: Subject, points: Entry) -> Cell:
    """Adversarial examples of a network near points."""
    return Cell(
        kind="points",
        label=f"points adversarial {subject.name}",
        function="awt.cells.points:adversarial",
        params={
            **subject.params(),
            "seed": subject.seed,
            "threat": as_json(threat),
            "attack": as_json(attack),
        },
        inputs={**subject.inputs(), "x": points.source("x.npy"), "y": points.source("y.npy")},
        tags=subject.tags,
    )


def plan_cell(request: Request, memory_gb: float) -> Cell:
    """The side of tiles that a worker can compute within a memory budget; the same for any weights."""
    rows, columns = request.counts
    masked = request.subject.mask is not None
    return Cell(
        kind="plan",
        label=f"plan {request.shape} {rows} x {columns}{' masked' if masked else ''}",
        function="awt.cells.gram:plan",
        params={**request.params(), "counts": [rows, columns], "masked": masked, "memory_gb": memory_gb},
    )


def tile_cell(request: Request, tile: Tile, side: int) -> Cell:
    """A tile; `program` is the size that the compiled program has for all of them."""
    others = {} if request.columns is None else {"columns": request.columns.x}
    return Cell(
        kind="tile",
        label=f"gram {request.subject.name} {tile.name}",
        function="awt.cells.gram:tile",
        params={
            **request.params(),
            "rows": tile.rows,
            "columns": tile.columns,
            "program": [min(side, count) for count in request.counts],
        },
        inputs={**request.subject.inputs(), "rows": request.rows.x, **others},
        tags=request.subject.tags,
    )


@dataclass(frozen=True)
class Computed:
    """A Gram matrix whose tiles are in the store."""

    index: Index
    tiles: list[Entry]  # in the index's order
    engine: str

    def files(self) -> dict[str, bytes | Path]:
        """What to publish in a folder that `awt.kernels.tiles.Gram` opens."""
        files: dict[str, bytes | Path] = {INDEX: encode_json(self.index.as_json())}
        return files | {name: entry.path("tile.npy") for name, entry in self.entries().items()}

    def entries(self) -> dict[str, Entry]:
        """The tiles by the names of their files."""
        return {tile.name: entry for tile, entry in zip(self.index.tiles(), self.tiles, strict=True)}

    def gram(self) -> Gram:
        """To be read where the tiles are."""
        return Gram.of(self.index, {name: entry.path("tile.npy") for name, entry in self.entries().items()})


def compute(run: Run, requests: Sequence[Request], memory_gb: float) -> list[Computed]:
    """Computes Gram matrices, all their tiles side by side, or finds them in the store."""
    plans = [
        decode_json(entry.read("plan.json"), "plan.json")
        for entry in run([plan_cell(request, memory_gb) for request in requests])
    ]
    indices = [request.index(plan["side"]) for request, plan in zip(requests, plans, strict=True)]
    tiles = iter(
        run(
            [
                tile_cell(request, tile, index.side)
                for request, index in zip(requests, indices, strict=True)
                for tile in index.tiles()
            ]
        )
    )
    return [
        Computed(index, [next(tiles) for _ in index.tiles()], plan["engine"])
        for index, plan in zip(indices, plans, strict=True)
    ]
