"""How a run runs, not what comes out: where cells are computed and kept, with what resources."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge, Gt

from awt.options import options


@options
class Resources:
    """What one cell asks of the cluster; `gpus: null` means one where the cluster has any."""

    cpus: Annotated[float, Gt(0)] = 1
    gpus: Annotated[float, Ge(0)] | None = None
    memory_gb: Annotated[float, Ge(0)] = 0


@options
class Runtime:
    executor: Literal["ray", "serial"] = "ray"
    device: Literal["auto", "cpu", "gpu"] = "auto"
    store: str | None = None
    retries: Annotated[int, Ge(0)] = 3
    checkpoint_seconds: Annotated[float, Ge(0)] = 20
    grace_seconds: Annotated[float, Ge(0)] = 30
    resources: dict[str, Resources] = field(default_factory=dict)  # by kind of cell; `default` for all others
