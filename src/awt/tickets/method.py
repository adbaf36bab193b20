"""What a method is: a function, its typed options, what it needs, what its ticket starts from, what it costs."""

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt

from awt.attacks.pgd import Attack
from awt.errors import InputError
from awt.loading import load
from awt.models.size import Problem
from awt.options import options
from awt.tickets.masks import Scope
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
    found = load(reference)
    if isinstance(found, Method):
        return found
    if not callable(found):
        raise InputError(f"{reference}: neither a Method nor a function of a setting and options")
    hints = [hint for name, hint in typing.get_type_hints(found).items() if name != "return"]
    return Method(found, hints[1]) if len(hints) > 1 else Method(lambda setting, options: found(setting))
