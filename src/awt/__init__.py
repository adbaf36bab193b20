"""Adversarial winning tickets: sparse networks, found at initialisation, that train to be robust.

docs/library.md shows the public names at work. Each is imported when it is first used: `import awt` is quick, and
starts nothing.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "Gram": "awt.kernels.tiles:Gram",
    "Threat": "awt.attacks.ball:Threat",
    "apply_mask": "awt.models.network:apply_mask",
    "attack": "awt.api.attacks:attack",
    "dataset": "awt.api.datasets:dataset",
    "density": "awt.api.masks:density",
    "evaluate": "awt.api.attacks:evaluate",
    "find_ticket": "awt.api.tickets:find_ticket",
    "gradient_flow": "awt.kernels.predictions:gradient_flow",
    "kernel_distance": "awt.api.diagnostics:kernel_distance",
    "kernel_figures": "awt.api.diagnostics:kernel_figures",
    "kernel_regression": "awt.kernels.predictions:kernel_regression",
    "load": "awt.api.masks:load",
    "mtk": "awt.api.kernels:mtk",
    "network": "awt.api.networks:network",
    "ntk": "awt.api.kernels:ntk",
    "ntk_product": "awt.api.kernels:ntk_product",
    "overlap": "awt.api.masks:overlap",
    "save": "awt.api.masks:save",
    "shuffle": "awt.tickets.shuffled:shuffle",
    "spectrum": "awt.api.diagnostics:spectrum",
    "train": "awt.api.training:train",
    "wrap": "awt.api.networks:wrap",
}

__all__ = ["__version__", *_NAMES]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'awt' has no attribute {name!r}")
    module, _, inner = _NAMES[name].partition(":")
    value = globals()[name] = getattr(importlib.import_module(module), inner)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
