"""The cells of kernels, for drivers: described here, computed by the modules beside this one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from awt.kernels.tiles import Index, Shape, Tile
from awt.params import Model, Params
from awt.runtime import Cell, Entry, Source

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
        return f"{self.method} {self.density:g} seed {self.seed}{' trained' if self.trained else ''}"

    def params(self) -> dict[str, Any]:
        return {"model": self.model.as_json(), "data": dict(self.data)}

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
        function="awt.kernels.points:natural",
        params={"part": part, "count": count},
        inputs={"dataset": dataset},
    )


def adversarial_cell(params: Params, subject: Subject, points: Entry) -> Cell:
    """Adversarial examples of a network near points, by the attack of the search."""
    return Cell(
        kind="points",
        label=f"points adversarial {subject.name}",
        function="awt.kernels.points:adversarial",
        params={
            **subject.params(),
            "seed": subject.seed,
            "threat": params.threat.as_json(),
            "attack": params.search.attack.as_json(),
        },
        inputs={**subject.inputs(), "x": points.source("x.npy"), "y": points.source("y.npy")},
    )


def plan_cell(request: Request, memory_gb: float) -> Cell:
    """The side of tiles that a worker can compute within a memory budget; the same for any weights."""
    rows, columns = request.counts
    masked = request.subject.mask is not None
    return Cell(
        kind="plan",
        label=f"plan {request.shape} {rows} x {columns}{' masked' if masked else ''}",
        function="awt.kernels.gram:plan",
        params={**request.params(), "counts": [rows, columns], "masked": masked, "memory_gb": memory_gb},
    )


def tile_cell(request: Request, tile: Tile, side: int) -> Cell:
    """A tile; `program` is the size that the compiled program has for all of them."""
    others = {} if request.columns is None else {"columns": request.columns.x}
    return Cell(
        kind="tile",
        label=f"gram {request.subject.name} {tile.name}",
        function="awt.kernels.gram:tile",
        params={
            **request.params(),
            "rows": tile.rows,
            "columns": tile.columns,
            "program": [min(side, count) for count in request.counts],
        },
        inputs={**request.subject.inputs(), "rows": request.rows.x, **others},
    )
