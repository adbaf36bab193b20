"""A random mask: the honest floor under every method; with `like`, at the layer densities of another method's mask."""

from awt.tickets.masks import layer_counts, select, uniform
from awt.tickets.setting import Setting, Ticket


def random(setting: Setting) -> Ticket:
    kept = setting.kept if setting.other is None else layer_counts(setting.other)
    return Ticket(select(uniform(setting.network, setting.seed), kept))
