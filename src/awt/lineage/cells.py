"""The cells behind a result: what run records and the store say of them, and which came from which."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from awt.lineage.graph import Graph, Node
from awt.lineage.pipeline import flat
from awt.lineage.snapshot import Snapshot
from awt.names import TicketName
from awt.runtime.cell import Surroundings, from_json
from awt.runtime.known import Known
from awt.runtime.store import Entry, Store


@dataclass(frozen=True)
class Made:
    """A cell of a run: what its record says, and its entry where the store has it."""

    key: str
    label: str
    stage: str
    noted: Mapping[str, Any]
    entry: Entry | None

    @classmethod
    def of(cls, known: Known, store: Store) -> "Made":
        """A cell that no record names: of an unfinished run, or an older one."""
        noted = {"state": known.state, "tags": known.cell.tags}
        return cls(known.key, known.cell.label, known.stage, noted, store.peek(known.key))

    @property
    def tags(self) -> Mapping[str, Any]:
        """What it is about."""
        return self.noted.get("tags", {})

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
        """Whether the entry's description gives the key that it lies under."""
        about = self.about
        if "versions" in about:
            return True  # of awt 0.1, whose keys were made of other things
        try:
            surroundings, cell = Surroundings(**about["surroundings"]), from_json(about["cell"])
            return surroundings.key(cell, about["threads"], about["code"]) == self.key
        except (KeyError, TypeError, AttributeError):
            return False

    def is_named_by(self, path: str) -> bool:
        """Whether a part of a path starts with the name of the ticket that the cell is about."""
        if not self.tags.keys() >= set(TicketName._fields):
            return False
        name = str(TicketName.of(self.tags))
        return any(part == name or part.startswith((f"{name}.", f"{name}-")) for part in PurePath(path).parts)


class Cells:
    """All cells that an experiment's records name."""

    def __init__(self, snapshot: Snapshot, store: Store | None) -> None:
        self.made: dict[str, Made] = {}
        for stage in snapshot.order:
            for noted in snapshot.records.get(stage, {}).get("cells", {}).get("cells", []):
                key = noted["key"]
                entry = store.peek(key) if store else None
                self.made.setdefault(key, Made(key, noted["label"], stage, noted, entry))
        self._snapshot = snapshot
        self._by_digest: dict[str, list[Made]] = {}
        for one in self.made.values():
            for digest in set(one.entry.digests.values()) if one.entry else ():
                self._by_digest.setdefault(digest, []).append(one)

    def of_file(self, path: str, sha256: str, stages: Iterable[str]) -> Made | None:
        """The cell of some stages that returned a file; several may return the same bytes: then by its name."""
        makers = [one for one in self._by_digest.get(sha256, []) if one.stage in stages]
        return next((one for one in makers if one.is_named_by(path)), makers[0] if makers else None)

    def _source(self, one: Made, source: Mapping[str, str]) -> Made | None:
        """The cell that an input came from: an entry of the store, or a file that an earlier stage published."""
        folder = PurePath(source["path"]).parent.name
        if folder in self.made:
            return self.made[folder]
        return self.of_file(source["path"], source["sha256"], self._stages_before(one))

    def _stages_before(self, one: Made) -> list[str]:
        return self._snapshot.before(one.stage)[1:] if one.stage in self._snapshot.steps else []

    def of_stage(self, stage: str) -> list[Made]:
        return [one for one in self.made.values() if one.stage == stage]

    def behind(self, some: Iterable[Made]) -> list[Made]:
        """Cells and all that they came from, in the order of the records."""
        behind: dict[str, Made] = {}
        waiting = list(some)
        while waiting:
            one = waiting.pop()
            if one.key not in behind:
                behind[one.key] = one
                waiting += self._parents(one)
        return [one for key, one in self.made.items() if key in behind]

    def _parents(self, one: Made) -> list[Made]:
        """By its inputs; where the store does not have it, the cells of earlier stages that are about the same, or part
        of it: the same seed, or the same method and seed."""
        if one.entry is not None:
            return [made for source in one.sources.values() if (made := self._source(one, source))]
        earlier = [other for stage in self._stages_before(one) for other in self.of_stage(stage)]
        return [other for other in earlier if other.tags and _is_part(other.tags, one.tags)]

    def graph(self, some: list[Made]) -> Graph:
        """Cells and what they came from, named by what they do and numbered by their labels, so that two such graphs
        can be compared."""
        nodes: dict[str, Node] = {}
        parents: dict[str, tuple[str, ...]] = {}
        roles: dict[str, str] = {}
        numbers: Counter[str] = Counter()
        behind = self.behind(some) or some
        for one in sorted(behind, key=lambda one: one.label):
            numbers[_role(one)] += 1
            roles[one.key] = f"{_role(one)} {numbers[_role(one)]}"
        for one in behind:
            role = roles[one.key]
            before, own = [], _facts(role, one)
            for name, source in one.sources.items():
                other = self._source(one, source)
                if other is None:
                    own[f"{role}: {name}"] = Node("artifact", source["sha256"], f"{name} of {one.label}")
                else:
                    before.append(roles[other.key])
            nodes |= {**own, role: Node("cell", one.key, one.label)}
            parents |= dict.fromkeys(own, ()) | {role: tuple(dict.fromkeys([*own, *before]))}
        return Graph(nodes, parents)

    def impact(self, sha256s: Iterable[str]) -> list[Made]:
        """The cells that came from files with these digests."""
        known, reached = set(sha256s), set[str]()
        while True:
            fresh = [one for one in self.made.values() if one.key not in reached and known & set(one.inputs.values())]
            if not fresh:
                return [one for key, one in self.made.items() if key in reached]
            for one in fresh:
                reached.add(one.key)
                known |= set(one.entry.digests.values()) if one.entry else set()


def _is_part(tags: Mapping[str, Any], of: Mapping[str, Any]) -> bool:
    return all(name in of and of[name] == value for name, value in tags.items())


def _role(one: Made) -> str:
    """What a cell does, whatever it is about."""
    cell = one.about.get("cell", {})
    return " ".join(dict.fromkeys([cell.get("kind", one.stage), cell.get("function", "").rpartition(":")[2]])).strip()


def _facts(role: str, one: Made) -> dict[str, Node]:
    """What decided a cell's result beside its inputs."""
    about, cell = one.about, one.about.get("cell", {})
    code = about.get("code", {})
    around = {**flat(dict(about.get("surroundings", {}))), "threads": about.get("threads")}
    values = [("parameter", flat(dict(cell.get("params", {})))), ("environment", around)]
    values += [("code", code.get("modules", {})), ("environment", code.get("distributions", {}))]
    values += [("code", {"function": cell.get("function")}), ("environment", {"python": code.get("python")})]
    return {
        f"{role}: {name}": Node(kind, value, f"{name} of {one.label}")
        for kind, named in values
        for name, value in named.items()
        if one.entry and value is not None
    }
