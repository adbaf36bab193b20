"""Settings of a search small enough to run whole, by what differs."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from awt.cells.mask import make_setting as make
from awt.loop import UNWATCHED
from awt.options import from_json
from awt.tickets.method import method
from awt.tickets.setting import Setting

EPS = 0.05


class Asked(NamedTuple):
    """What a method is called with."""

    setting: Setting
    options: Any

    @property
    def kept(self) -> Any:
        """As `select` takes it."""
        return self.setting.kept(self.options.scope)


@pytest.fixture
def ask(
    search_inputs: Callable[..., dict[str, bytes]], search_params: Callable[..., dict[str, Any]]
) -> Callable[..., Asked]:
    """A setting as the cell that finds masks makes it, and the method's options; keywords change these."""

    def build(
        name: str = "awt",
        density: float = 0.3,
        seed: int = 0,
        eps: float = EPS,
        teacher_epochs: int = 0,
        network: str = "mlp",
        **changes: Any,
    ) -> Asked:
        inputs = search_inputs(seed, eps, changes.get("estimator", "probe"), teacher_epochs, network)
        params = search_params(name, density, seed, eps, network, **changes)
        options = from_json(method(params["method"]).options, params["options"])
        return Asked(make(params, inputs, getattr(options, "batch", None), UNWATCHED), options)

    return build
