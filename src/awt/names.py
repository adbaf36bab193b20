"""What a ticket is called, in one spelling: in labels, file names, tables and lineage alike."""

from collections.abc import Mapping
from typing import Any, NamedTuple

CHECKPOINT = "checkpoint/"  # what the names of a cell's inputs that are a checkpoint's files start with


class TicketName(NamedTuple):
    """The method (or recipe) that found a ticket, its density, and the seed of its network."""

    method: str
    density: float
    seed: int

    def __str__(self) -> str:
        return f"{self.method}-{self.density:.12g}-seed{self.seed}"

    @property
    def tags(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> "TicketName":
        """From anything that has the three: a cell's tags, an index's entry, a table's row."""
        return cls(str(about["method"]), float(about["density"]), int(about["seed"]))
