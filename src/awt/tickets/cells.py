"""The cells of the mask stage: one for each method, density and seed."""

from typing import Any

from awt.params import Params
from awt.runtime import Cell, Source

Name = tuple[str, float, int]
"""Method or variant, density, seed."""

# The keys of the search section that each method reads; no other enters its cells, which so survive other changes.
_TRAINING = ("scope", "adversarial", "attack", "batch", "epochs", "teacher_rate")
_SCORING = ("scope", "adversarial", "attack", "batch", "score_batches")
_MATCHING = ("scope", "adversarial", "attack", "batch", "epochs", "learning_rate", "mask_every", "anneal")
READS: dict[str, tuple[str, ...]] = {
    "awt": (
        *_MATCHING,
        "target",
        "gamma",
        "distance",
        "estimator",
        "probes",
        "projected",
        "decay",
        "initial_mask",
        "rewinds",
        "drop",
        "start",
    ),
    "concrete": _MATCHING,
    "dense": (),
    "dns": (*_TRAINING, "mask_every", "anneal"),
    "grasp": _SCORING,
    "imp": (*_TRAINING, "rounds"),
    "iwi": _TRAINING,
    "magnitude": ("scope", "weights"),
    "random": ("scope",),
    "shuffled": (),
    "snip": _SCORING,
    "synflow": ("scope", "rounds"),
}


def grid(params: Params) -> list[Name]:
    """The masks to find; the dense network has one density."""
    return [
        (method, density, seed)
        for method in params.search.methods
        for density in ((1.0,) if params.search.base(method) == "dense" else params.search.densities)
        for seed in params.seeds
    ]


def takes_after(params: Params, method: str) -> str | None:
    """The method whose mask it is made of."""
    return params.search.recipe(method).like if params.search.base(method) in ("shuffled", "random") else None


def mask_cell(params: Params, name: Name, inputs: dict[str, Source]) -> Cell:
    method, density, seed = name
    base, recipe = params.search.base(method), params.search.recipe(method).as_json()
    return Cell(
        kind="mask",
        label=f"mask {method} {density:g} seed {seed}",
        function="awt.tickets.find:find_mask",
        params={
            "method": base,
            "density": density,
            "seed": seed,
            "model": params.model.as_json(),
            "search": {key: recipe[key] for key in READS[base]},
            **_threat(params, recipe, base),
        },
        inputs=inputs,
    )


def _threat(params: Params, recipe: dict[str, Any], base: str) -> dict[str, Any]:
    """What the search is attacked with, where it attacks: nothing, where it works on natural points."""
    if "adversarial" not in READS[base]:
        return {}
    return {"threat": params.threat.as_json() | ({} if recipe["adversarial"] else {"eps": 0.0})}
