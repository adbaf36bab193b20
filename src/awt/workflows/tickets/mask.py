"""The stage that finds a mask for every method, density and seed."""

from collections.abc import Mapping
from pathlib import Path

from awt.artifacts import FORMAT_VERSION, curves, decode_json, encode_csv, encode_json
from awt.models.registry import resolved
from awt.names import TicketName
from awt.options import as_json
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry
from awt.workflows.tickets.grid import DATASET, PLOTS, Ticket, dense_side, grid, initial
from awt.workflows.tickets.params import Params
from awt.workflows.workflow import ARTIFACTS, Inputs, Outs, Run

INDEX, SEARCH = f"{ARTIFACTS}/masks/index.json", f"{PLOTS}/search.csv"


def mask(run: Run, params: Params, inputs: Inputs) -> Outs:
    tickets = grid(params)
    found: dict[TicketName, Entry] = {}
    for after in (False, True):  # those that take after another come second
        asked = [one for one in tickets if (one.recipe.needs.mask_of is not None) == after]
        cells = [_cell(params, one, _inputs(one, inputs, found)) for one in asked]
        found |= {one.name: entry for one, entry in zip(asked, run(cells), strict=True)}
    files = {one.mask: found[one.name].source("mask.npz") for one in tickets}
    files |= {one.start: found[one.name].source("start.npz") for one in tickets if one.recipe.gives_start}

    def rest() -> Mapping[str, bytes | Path]:
        index = []
        for one in tickets:
            about = decode_json(found[one.name].read("mask.json"), "mask.json")
            index.append({**about, "method": one.name.method, "file": Path(one.mask).name})
        names = [one.name for one in tickets]
        return {
            INDEX: encode_json({"format_version": FORMAT_VERSION, "masks": index}),
            SEARCH: encode_csv(curves((found[name].read("curve.csv") for name in names), names)),
        }

    return Outs(files, rest)


def _inputs(one: Ticket, inputs: Inputs, masks: Mapping[TicketName, Entry]) -> dict[str, Source]:
    """The files that a method is given; of a mask that takes after another, that one."""
    needs, seed = one.recipe.needs, one.name.seed
    found = {"dataset": inputs.source(DATASET), "initial": inputs.source(initial(seed))}
    if needs.teacher:
        trained = dense_side(one.recipe.name, seed, "teacher")
        found["teacher"] = inputs.source(trained if needs.teacher.epochs else initial(seed))
    if needs.outputs:
        found["dense"] = inputs.source(dense_side(one.recipe.name, seed, "dense"))
    if needs.views:
        found["views"] = inputs.source(dense_side(one.recipe.name, seed, "views"))
    if needs.mask_of:
        found["other"] = masks[one.name._replace(method=needs.mask_of)].source("mask.npz")
    return found


def _cell(params: Params, one: Ticket, inputs: dict[str, Source]) -> Cell:
    threat = one.recipe.threat(params.threat)
    return Cell(
        kind="mask",
        label=f"mask {one.name}",
        function="awt.cells.mask:find_mask",
        params={
            "method": one.recipe.reference,
            "options": as_json(one.recipe.options),
            "density": one.name.density,
            "seed": one.name.seed,
            "model": as_json(resolved(params.model)),
            **({} if threat is None else {"threat": as_json(threat)}),
        },
        inputs=inputs,
        tags=one.name.tags,
    )
