"""No pruning: what every ticket is compared with."""

from awt.tickets.method import Method, NoOptions
from awt.tickets.setting import Setting, Ticket


def dense(setting: Setting, options: NoOptions) -> Ticket:
    return Ticket(setting.network.everything())


METHOD = Method(dense, is_dense=True)
