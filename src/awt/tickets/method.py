"""What a method is: a function, its typed options, what it needs, what its ticket starts from, what it costs."""

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt

from awt.attacks.ball import Threat
from awt.attacks.pgd import Attack
from awt.errors import InputError, WorkError
from awt.loading import load
from awt.models.size import Problem
from awt.options import options
from awt.tickets.masks import Scope, total_kept
from awt.tickets.setting import Setting, Ticket

Positive = Annotated[int, Ge(1)]
Rate = Annotated[float, Gt(0)]


@options
class NoOptions:
    """Of a method that has none."""


@options
class Scoped:
    """Of methods that choose how many weights each layer keeps."""

    scope: Scope = "global"


@options
class Attacking(Scoped):
    """Of methods that look at the (attacked) training points, in batches."""

    adversarial: bool = True
    attack: Attack = Attack()
    batch: Positive = 64


@dataclass(frozen=True)
class Teacher:
    """The dense network that a method looks at: adversarially trained for some epochs, 0 for its initial weights."""

    epochs: int
    learning_rate: float


@dataclass(frozen=True)
class Views:
    """How a method looks at the dense network's kernel; unless it is `matched`, only for its curves."""

    estimator: str
    probes: int
    epochs: int
    matched: bool


@dataclass(frozen=True)
class Needs:
    """What a method is given beside network, initial weights and data."""

    teacher: Teacher | None = None
    outputs: bool = False  # of the teacher, on its adversarial examples
    views: Views | None = None
    mask_of: str | None = None  # the method whose mask it takes after


def _nothing(options: Any) -> Needs:
    return Needs()


def _never(options: Any) -> bool:
    return False


def _free(options: Any, eps: float, problem: Problem) -> float:
    return 0.0


@dataclass(frozen=True)
class Method:
    """A way to find tickets."""

    find: Callable[[Setting, Any], Ticket]
    options: type = NoOptions
    needs: Callable[[Any], Needs] = _nothing
    gives_start: Callable[[Any], bool] = _never  # whether its ticket says what training starts from
    trains_all: bool = False
    is_dense: bool = False  # at one density, 1
    flops: Callable[[Any, float, Problem], float] = _free  # of its options under a threat of size ε


def method(reference: str) -> Method:
    """What `module:name` names: a Method, or a function of a setting and options, whose annotation says which."""
    return as_method(load(reference), reference)


def as_method(value: Any, source: str) -> Method:
    """A Method as it is, a function as the Method that it stands for; `source` names it in errors."""
    if isinstance(value, Method):
        return value
    if not callable(value):
        raise InputError(f"{source}: neither a Method nor a function of a setting and options")
    hints = [hint for name, hint in typing.get_type_hints(value).items() if name != "return"]
    return Method(value, hints[1]) if len(hints) > 1 else Method(lambda setting, options: value(setting))


def threat_of(options: Any, threat: Threat) -> Threat | None:
    """What a search is attacked with: nothing, where the method looks at no points or at natural ones."""
    adversarial = getattr(options, "adversarial", None)
    if adversarial is None:
        return None
    return threat if adversarial else Threat(norm=threat.norm, eps=0.0, eps_unit=threat.eps_unit, clip=threat.clip)


def find(asked: Method, setting: Setting, options: Any) -> Ticket:
    """Finds a ticket, and refuses one of another density, whoever made it: its comparisons would be worthless."""
    ticket = asked.find(setting, options)
    kept = {name: int(np.sum(np.asarray(layer))) for name, layer in ticket.mask.items()}
    wanted = total_kept(setting.network.kernel_shapes, setting.density)
    empty = [name for name, number in kept.items() if number == 0]
    if sum(kept.values()) != wanted or empty:
        raise WorkError(f"mask keeps {sum(kept.values())} weights instead of {wanted}; empty layers: {empty or 'none'}")
    if (ticket.start is not None) != asked.gives_start(options) or ticket.trains_all != asked.trains_all:
        raise WorkError("the ticket's start is not what its Method says (gives_start, trains_all)")
    return ticket
