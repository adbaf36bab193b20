"""The Gram service: for drivers, Gram matrices over any points as plan and tile cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from awt.artifacts import decode_json, encode_json
from awt.kernels.cells import Request, plan_cell, tile_cell
from awt.kernels.tiles import INDEX, Index
from awt.runtime import Cell, Entry

Run = Callable[[Sequence[Cell]], list[Entry]]


@dataclass(frozen=True)
class Computed:
    """A Gram matrix whose tiles are in the store."""

    index: Index
    tiles: list[Entry]  # in the index's order
    engine: str

    def files(self) -> dict[str, bytes | Path]:
        """What to publish in a folder that `awt.kernels.tiles.Gram` opens."""
        files: dict[str, bytes | Path] = {INDEX: encode_json(self.index.as_json())}
        return files | {
            tile.name: entry.path("tile.npy") for tile, entry in zip(self.index.tiles(), self.tiles, strict=True)
        }


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
