"""How a network is trained, as a user says it."""

from dataclasses import field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt

from awt.attacks.ball import Threat
from awt.attacks.pgd import Attack
from awt.options import options


@options
class Training:
    objective: str = "awt.training.objectives.pgd:OBJECTIVE"  # or a short name, where a registry is at hand
    objective_options: dict[str, Any] = field(default_factory=dict)
    epochs: Annotated[int, Ge(1)]
    batch: Annotated[int, Ge(1)] = 64
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    schedule: Literal["constant", "cosine", "steps"] = "constant"
    decay: Annotated[float, Ge(0)] = 0.0
    label_smoothing: Annotated[float, Ge(0), Lt(1)] = 0.0
    warmup_share: Annotated[float, Ge(0), Le(1)] = 0.0
    keep_epoch: Literal["last", "best"] = "last"
    extra_threats: tuple[Threat, ...] = ()
    attack: Attack = Attack()
