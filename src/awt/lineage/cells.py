"""The cells behind a result: what run records and the store say of them, and which came from which."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

from awt.lineage.graph import Graph, Node
from awt.lineage.pipeline import flat
from awt.lineage.snapshot import Snapshot
from awt.runtime.cell import Surroundings, from_json
from awt.runtime.store import Entry, Store


class Ticket(NamedTuple):
    """What a label or a file name is about; no seed: all of them."""

    method: str
    density: float
    seed: int | None = None

    def matches(self, label: str) -> bool:
        found = re.search(r"(?:^| )(\w+) (\S+) seed (\d+)(?: |$)", label)
        if found is None or found[1] != self.method or found[2] != f"{self.density:g}":
            return False
        return self.seed is None or int(found[3]) == self.seed

    @classmethod
    def of_file(cls, name: str) -> "Ticket | None":
        """Files of a ticket, and folders of its kernels, start with method, density and seed."""
        found = re.match(r"(\w+)-([\d.e-]+)-seed(\d+)", name)
        return cls(found[1], float(found[2]), int(found[3])) if found else None


@dataclass(frozen=True)
class Made:
    """A cell of a run: what its record says, and its entry where the store has it."""

    key: str
    label: str
    stage: str
    noted: Mapping[str, Any]
    entry: Entry | None

    @property
    def about(self) -> Mapping[str, Any]:
        return self.entry.about if self.entry else {}

    @property
    def sources(self) -> dict[str, dict[str, str]]:
        """Path and SHA-256 of its inputs, by name."""
        return dict(self.about.get("cell", {}).get("inputs", {}))

    @property
    def inputs(self) -> dict[str, str]:
        """Digests by name."""
        return {name: source["sha256"] for name, source in self.sources.items()}

    def has_its_key(self) -> bool:
        """Whether the entry's description gives the key that it lies under; True where it has too little to say."""
        about = self.about
        if not {"threads", "versions"} <= about.keys():
            return True
        try:
            surroundings, cell = Surroundings(**about["surroundings"]), from_json(about["cell"])
        except (KeyError, TypeError, AttributeError):
            return False
        return surroundings.key(cell, about["threads"], about["versions"]) == self.key


class Cells:
    """All cells that an experiment's records name."""

    def __init__(self, snapshot: Snapshot, store: Store | None) -> None:
        self.made: dict[str, Made] = {}
        for stage, record in snapshot.records.items():
            for noted in record.get("cells", {}).get("cells", []):
                key = noted["key"]
                entry = store.peek(key) if store else None
                self.made.setdefault(key, Made(key, noted["label"], stage, noted, entry))
        self._order = snapshot.order
        self._by_digest: dict[str, list[Made]] = {}
        for one in self.made.values():
            for digest in set(one.entry.digests.values()) if one.entry else ():
                self._by_digest.setdefault(digest, []).append(one)

    def of_file(self, path: str, sha256: str, stages: Iterable[str]) -> Made | None:
        """The cell of some stages that returned a file; several may return the same bytes: then by its name."""
        found = [one for one in self._by_digest.get(sha256, []) if one.stage in stages]
        ticket = Ticket.of_file(PurePath(path).name)
        return next((one for one in found if ticket and ticket.matches(one.label)), found[0] if found else None)

    def _source(self, one: Made, source: Mapping[str, str]) -> Made | None:
        """The cell that an input came from: an entry of the store, or a file that an earlier stage published."""
        folder = PurePath(source["path"]).parent.name
        if folder in self.made:
            return self.made[folder]
        return self.of_file(source["path"], source["sha256"], self._order[: self._order.index(one.stage)])

    def of_stage(self, stage: str) -> list[Made]:
        return [one for one in self.made.values() if one.stage == stage]

    def behind(self, some: Iterable[Made]) -> list[Made]:
        """Cells and all that they came from, in the order of the records; by their inputs, or, where the store does not
        have them, by what their labels are about."""
        found: dict[str, Made] = {}
        waiting = list(some)
        while waiting:
            one = waiting.pop()
            if one.key not in found:
                found[one.key] = one
                waiting += self._parents(one)
        return [one for key, one in self.made.items() if key in found]

    def _parents(self, one: Made) -> list[Made]:
        if one.entry is not None:
            return [made for source in one.sources.values() if (made := self._source(one, source))]
        return [other for other in self.made.values() if _is_behind(other.label, one.label)]

    def graph(self, some: list[Made]) -> Graph:
        """Cells and what they came from, named by the part that they play, so that two such graphs can be compared."""
        nodes: dict[str, Node] = {}
        parents: dict[str, tuple[str, ...]] = {}
        behind = self.behind(some) or some
        roles: dict[str, str] = {}
        for one in behind:
            same = sum(part(other.label) == part(one.label) for other in behind if other.key in roles)
            roles[one.key] = part(one.label) + (f" {same + 1}" if same else "")
        for one in behind:
            role, before, found = roles[one.key], [], _facts(roles[one.key], one)
            for name, source in one.sources.items():
                other = self._source(one, source)
                if other is None:
                    found[f"{role}: {name}"] = Node("artifact", source["sha256"], f"{name} of {one.label}")
                else:
                    before.append(roles[other.key])
            nodes |= {**found, role: Node("cell", one.key, one.label)}
            parents |= dict.fromkeys(found, ()) | {role: tuple(dict.fromkeys([*found, *before]))}
        return Graph(nodes, parents)

    def impact(self, sha256s: Iterable[str]) -> list[Made]:
        """The cells that came from files with these digests."""
        known, found = set(sha256s), dict[str, Made]()
        while True:
            fresh = [one for key, one in self.made.items() if key not in found and known & set(one.inputs.values())]
            if not fresh:
                return [one for key, one in self.made.items() if key in found]
            for one in fresh:
                found[one.key] = one
                known |= set(one.entry.digests.values()) if one.entry else set()


def part(label: str) -> str:
    """What a label says beside the ticket, seed and number of epochs that it is about."""
    return re.sub(r" (\w+ [\d.e-]+ |of \d+ epochs |\w+ )?seed \d+", "", label.replace(" weights", ""))


def _facts(role: str, one: Made) -> dict[str, Node]:
    """What decided a cell's result beside its inputs."""
    described, around = one.about.get("cell", {}), one.about.get("surroundings", {})
    values = {name: ("parameter", value) for name, value in flat(dict(described.get("params", {}))).items() if name}
    values |= {name: ("environment", value) for name, value in around.items()}
    values |= {"function": ("code", described.get("function"))}
    return {f"{role}: {name}": Node(kind, value, f"{name} of {one.label}") for name, (kind, value) in values.items()}


_ORDER = ("initial", "teacher", "dense", "kernel", "points", "plan", "mask", "retrain", "evaluate")


def _is_behind(other: str, label: str) -> bool:
    """Whether a cell is of an earlier kind, and of the same ticket, or of none but the same seed."""
    ticket = re.search(r"(\w+ \S+ seed \d+)(?: |$)", label)
    kinds = [_ORDER.index(text.split()[0]) if text.split()[0] in _ORDER else len(_ORDER) for text in (other, label)]
    if ticket is None or kinds[0] >= kinds[1]:
        return False
    method, seed = ticket[1].split()[0], ticket[1].rpartition(" seed ")[2]
    if other.split()[0] in ("mask", "retrain"):
        return f" {ticket[1]}" in f" {other}"
    return other.endswith(f" seed {seed}") and (other.split()[0] in ("initial", "teacher") or f" {method} " in other)
