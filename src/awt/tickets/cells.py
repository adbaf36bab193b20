"""The cells of the mask stage: one for each method, density and seed."""

from awt.params import Params
from awt.runtime import Cell, Source

Name = tuple[str, float, int]
"""Method, density, seed."""


def grid(params: Params) -> list[Name]:
    """The masks to find; the dense network has one density."""
    return [
        (method, density, seed)
        for method in params.search.methods
        for density in ((1.0,) if method == "dense" else params.search.densities)
        for seed in params.seeds
    ]


def mask_cell(params: Params, name: Name, inputs: dict[str, Source]) -> Cell:
    method, density, seed = name
    # a cell knows its own method and density, not the grid: a density added elsewhere leaves it in the store
    search = params.search.as_json() | {"methods": [method], "densities": [density]}
    return Cell(
        kind="mask",
        label=f"mask {method} {density:g} seed {seed}",
        function="awt.tickets.find:find_mask",
        params={
            "method": method,
            "density": density,
            "seed": seed,
            "model": params.model.as_json(),
            "threat": params.threat.as_json(),
            "search": search,
        },
        inputs=inputs,
    )
