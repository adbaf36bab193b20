"""The largest weights: of the initial ones or, one-shot magnitude pruning, of the teacher's (rewound all the same)."""

from typing import Annotated, Literal

from annotated_types import Ge

from awt.options import options
from awt.tickets.masks import magnitudes, select
from awt.tickets.method import Attacking, Method, Needs, Rate, Teacher
from awt.tickets.setting import Setting, Ticket


@options
class Options(Attacking):
    weights: Literal["initial", "teacher"] = "initial"
    teacher_epochs: Annotated[int, Ge(0)] = 0
    teacher_rate: Rate = 1e-3


def magnitude(setting: Setting, options: Options) -> Ticket:
    weights = setting.initial if options.weights == "initial" else setting.teacher
    assert weights is not None
    return Ticket(select(magnitudes(weights), setting.kept(options.scope)))


def needs(options: Options) -> Needs:
    if options.weights == "initial":
        return Needs()
    return Needs(teacher=Teacher(options.teacher_epochs, options.teacher_rate))


METHOD = Method(magnitude, Options, needs)
