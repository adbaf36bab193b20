"""The evaluation of trained networks as cells, for drivers: suites of attacks over chunks of test points, and signs
that a network only seems robust."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from awt.artifacts import Arrays, decode_npz
from awt.attacks.ball import Threat
from awt.attacks.registry import resolved as resolved_attack
from awt.evaluation.scores import join
from awt.models.architecture import Model
from awt.models.registry import resolved
from awt.names import TicketName
from awt.options import as_json
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry
from awt.training.objectives.registry import resolved as resolved_training
from awt.training.options import Training

Run = Callable[[Sequence[Cell]], list[Entry]]
Chunk = tuple[int, int]
Inputs = Mapping[str, Source]


@dataclass(frozen=True)
class Judged:
    """A trained network that is attacked: its name, what it is, the threat, its files (dataset, model)."""

    name: TicketName
    model: Model
    threat: Threat
    inputs: Inputs

    def params(self) -> dict[str, Any]:
        return {"seed": self.name.seed, "model": as_json(resolved(self.model)), "threat": as_json(self.threat)}


def chunks(points: int, size: int) -> list[Chunk]:
    return [(start, min(start + size, points)) for start in range(0, points, size)]


def attack_cell(
    one: Judged,
    number: int,
    attack: str,
    changes: Mapping[str, Any],
    chunk: Chunk,
    before: Inputs,
    keep_examples: bool = False,
) -> Cell:
    """The `number`-th attack of a suite; `before` has the outcome of the one before it."""
    reference, settings = resolved_attack(attack, changes)
    asked = {"attack": reference, "settings": settings, "number": number, "points": list(chunk)}
    asked |= {"keep_examples": True} if keep_examples else {}
    return Cell(
        kind="evaluate",
        label=f"evaluate {one.name} {attack} points {chunk[0]}-{chunk[1]}",
        function="awt.cells.attack:attack",
        params=one.params() | asked,
        inputs={**one.inputs, **before},
        tags={**one.name.tags, "attack": attack, "points": list(chunk)},
    )


def sanity_cell(one: Judged, points: int) -> Cell:
    return Cell(
        kind="evaluate",
        label=f"evaluate {one.name} sanity",
        function="awt.cells.sanity:check",
        params=one.params() | {"points": points},
        inputs=one.inputs,
        tags={**one.name.tags, "check": "sanity"},
    )


def dynamics_cell(one: Judged, training: Training, points: int) -> Cell:
    """Of `inputs` with dataset, initial and mask."""
    return Cell(
        kind="retrain",
        label=f"dynamics {one.name}",
        function="awt.cells.dynamics:dynamics",
        params=one.params() | {"training": as_json(resolved_training(training)), "points": points},
        inputs=one.inputs,
        tags={**one.name.tags, "check": "dynamics"},
    )


def run_suite(
    run: Run,
    attacks: Sequence[str],
    changes: Mapping[str, Mapping[str, Any]],
    networks: Sequence[Judged],
    pieces: Sequence[Chunk],
    keep_examples: bool = False,
) -> list[list[list[Entry]]]:
    """Attacks one after the other, all networks and chunks at once; by attack and network, the outcome of each chunk:
    the last attack's are the suite's."""
    jobs = [(one, chunk) for one in networks for chunk in pieces]
    before: list[Inputs] = [{} for _ in jobs]
    outcomes = []
    for number, attack in enumerate(attacks):
        cells = [
            attack_cell(one, number, attack, changes.get(attack, {}), chunk, last, keep_examples)
            for (one, chunk), last in zip(jobs, before, strict=True)
        ]
        entries = run(cells)
        before = [{"before": entry.source("points.npz")} for entry in entries]
        outcomes.append([entries[start : start + len(pieces)] for start in range(0, len(entries), len(pieces))])
    return outcomes


def outcome_of(entries: Sequence[Entry]) -> Arrays:
    """One network's test points after a suite."""
    return join([decode_npz(entry.read("points.npz"), "points.npz") for entry in entries])


def examples_of(entries: Sequence[Entry]) -> Arrays:
    """The images that an attack broke one network's points with: point, label, x."""
    return join([decode_npz(entry.read("examples.npz"), "examples.npz") for entry in entries])
