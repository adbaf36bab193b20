"""No pruning: what every ticket is compared with."""

from awt.tickets.setting import Setting, Ticket


def dense(setting: Setting) -> Ticket:
    return Ticket(setting.network.everything())
