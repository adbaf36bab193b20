"""A directed acyclic graph of what came from what, and where two of them part. Knows nothing of files."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Node:
    """Something with a content of its own: a value, a digest; None for what only ties others together."""

    kind: str
    content: Any = None
    label: str = ""


@dataclass(frozen=True)
class Graph:
    """Nodes by name, and for each the names of what it came from."""

    nodes: Mapping[str, Node]
    parents: Mapping[str, tuple[str, ...]]

    def upstream(self, name: str) -> set[str]:
        """All that a node came from, itself excluded."""
        return _reach(name, self.parents)

    def impact(self, name: str) -> set[str]:
        """All that came from a node, itself excluded."""
        return _reach(name, self.children())

    def children(self) -> dict[str, tuple[str, ...]]:
        children: dict[str, list[str]] = {name: [] for name in self.nodes}
        for name, parents in self.parents.items():
            for parent in parents:
                children[parent].append(name)
        return {name: tuple(others) for name, others in children.items()}

    def part(self, names: Iterable[str]) -> "Graph":
        """The graph of some nodes."""
        kept = set(names)
        return Graph(
            {name: node for name, node in self.nodes.items() if name in kept},
            {name: tuple(p for p in parents if p in kept) for name, parents in self.parents.items() if name in kept},
        )

    def heights(self) -> dict[str, int]:
        """The longest way from each node down to one that nothing came from: the largest are nearest to raw data."""
        children, heights = self.children(), dict[str, int]()
        for name in self.nodes:
            waiting = [name]
            while waiting:
                open_children = [child for child in children[waiting[-1]] if child not in heights]
                if open_children:
                    waiting.append(open_children[0])
                    continue
                last = waiting.pop()
                heights[last] = 1 + max((heights[child] for child in children[last]), default=-1)
        return heights


def _reach(name: str, onward: Mapping[str, tuple[str, ...]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(onward.get(name, ()))
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += onward.get(one, ())
    return seen


class Change(NamedTuple):
    """A node whose content differs; None stands for a graph that has no such node."""

    name: str
    one: Node | None
    other: Node | None


class Difference(NamedTuple):
    """`first`: where the histories part, nearest to the raw data; `also`: what else differs by itself; `follows`: what
    differs because of those. Each with what is nearest to the raw data first."""

    first: tuple[Change, ...]
    also: tuple[Change, ...]
    follows: tuple[Change, ...]


def difference(one: Graph, other: Graph) -> Difference:
    """What differs between two graphs, by the nodes' names."""
    names = {name for name in {*one.nodes, *other.nodes} if _content(one, name) != _content(other, name)}
    own_heights = [graph.heights() for graph in (one, other)]
    heights = {name: max(each.get(name, -1) for each in own_heights) for name in names}
    causes = {name for name in names if not names & (one.upstream(name) | other.upstream(name))}
    top = max((heights[name] for name in causes), default=0)

    def changes(some: Iterable[str]) -> tuple[Change, ...]:
        ordered = sorted(some, key=lambda name: (-heights[name], name))
        return tuple(Change(name, one.nodes.get(name), other.nodes.get(name)) for name in ordered)

    first = {name for name in causes if heights[name] == top}
    return Difference(changes(first), changes(causes - first), changes(names - causes))


def _content(graph: Graph, name: str) -> str | None:
    """None where there is no such node. As JSON: there 1 and True differ, and lists and tuples do not."""
    return json.dumps([graph.nodes[name].content], sort_keys=True) if name in graph.nodes else None
