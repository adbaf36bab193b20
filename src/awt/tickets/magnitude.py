"""The largest weights: of the initial ones or, one-shot magnitude pruning, of the teacher's (rewound all the same)."""

from awt.tickets.masks import magnitudes, select
from awt.tickets.setting import Setting, Ticket


def magnitude(setting: Setting) -> Ticket:
    weights = setting.initial if setting.teacher is None else setting.teacher
    return Ticket(select(magnitudes(weights), setting.kept))
