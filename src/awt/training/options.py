"""How a network is trained, as a user says it."""

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from awt.attacks.ball import Threat
from awt.attacks.pgd import Attack
from awt.options import options


@options
class Training:
    objective: Literal["natural", "fgsm", "pgd", "trades", "beta"] = "pgd"
    epochs: Annotated[int, Ge(1)]
    batch: Annotated[int, Ge(1)] = 64
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    schedule: Literal["constant", "cosine", "steps"] = "constant"
    decay: Annotated[float, Ge(0)] = 0.0
    trades_weight: Annotated[float, Gt(0)] = 6.0
    label_smoothing: Annotated[float, Ge(0), Lt(1)] = 0.0
    warmup_share: Annotated[float, Ge(0), Le(1)] = 0.0
    keep_epoch: Literal["last", "best"] = "last"
    extra_threats: tuple[Threat, ...] = ()
    attack: Attack = Attack()
