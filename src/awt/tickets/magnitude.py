"""The largest initial weights."""

from awt.tickets.masks import magnitudes, select
from awt.tickets.setting import Setting, Ticket


def magnitude(setting: Setting) -> Ticket:
    return Ticket(select(magnitudes(setting.initial), setting.kept))
