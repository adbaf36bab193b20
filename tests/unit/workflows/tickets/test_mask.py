"""The mask stage describes one cell a ticket, of what its method needs and of nothing else."""

from pathlib import Path
from typing import Any

from awt.params.checking import checked
from awt.params.reading import merged, read
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry
from awt.workflows.tickets.mask import mask
from awt.workflows.tickets.params import Params

PROJECT = Path(__file__).parents[4]


class Nothing:
    """Files that are known by their paths alone."""

    def source(self, path: str) -> Source:
        return Source(Path(path), path)


def cells_of(changes: dict[str, Any]) -> dict[str, Cell]:
    """The cells of the default experiment's mask stage, changed, by their labels."""
    described: dict[str, Cell] = {}

    def run(cells: list[Cell]) -> list[Entry]:
        described.update({cell.label: cell for cell in cells})
        return [Entry(cell.label, Path(cell.label), {"mask.npz": cell.label, "start.npz": "00"}, {}) for cell in cells]

    params = checked(Params, merged(read(PROJECT), {"seeds": [0], **changes}), "params.yaml")
    mask(run, params, Nothing())
    return described


def tickets(methods: list[str], **recipes: dict[str, Any]) -> dict[str, Any]:
    return {"tickets": {"methods": methods, "densities": [0.03], "recipes": recipes}}


def test_natural_points_are_neural_tangent_transfer():
    """ε = 0 in the threat, and `adversarial: false` whatever the threat, are the same search: NTT."""
    [still] = cells_of({**tickets(["awt"]), "threat": {"eps": 0.0}}).values()
    [ntt] = cells_of(tickets(["ntt"], ntt={"from": "awt", "adversarial": False})).values()
    options = [dict(cell.params["options"]) for cell in (still, ntt)]
    assert [one.pop("adversarial") for one in options] == [True, False]
    assert options[0] == options[1]
    others = [{**cell.params, "options": None} for cell in (still, ntt)]
    assert others[0] == others[1]
    assert still.params["threat"]["eps"] == 0.0


def test_a_cell_is_given_what_its_method_needs():
    recipes = {
        "one_shot": {"method": "magnitude", "weights": "teacher", "teacher_epochs": 2},
        "after": {"method": "random", "layer_counts_of": "awt"},
        "natural": {"method": "snip", "adversarial": False},
    }
    names = ["awt", "random", "synflow", "dense", *recipes]
    inputs = {
        cell.tags["method"]: set(cell.inputs) - {"dataset", "initial"}
        for cell in cells_of(tickets(names, **recipes)).values()
    }
    assert inputs == {
        "awt": {"teacher", "dense", "views"},
        "random": set(),
        "synflow": set(),
        "dense": set(),
        "one_shot": {"teacher"},
        "after": {"other"},
        "natural": set(),
    }


def test_a_teacher_that_is_not_trained_is_the_initial_weights():
    [cell] = cells_of(tickets(["awt"], awt={"teacher_epochs": 0})).values()
    assert cell.inputs["teacher"] == cell.inputs["initial"]
    [trained] = cells_of(tickets(["awt"], awt={"teacher_epochs": 2})).values()
    assert trained.inputs["teacher"] != trained.inputs["initial"]


def test_a_mask_that_takes_after_another_is_found_after_it():
    cells = cells_of(tickets(["after", "awt"], after={"method": "shuffled", "mask_of": "awt"}))
    assert list(cells) == ["mask awt-0.03-seed0", "mask after-0.03-seed0"]
    assert cells["mask after-0.03-seed0"].inputs["other"].sha256 == "mask awt-0.03-seed0"
