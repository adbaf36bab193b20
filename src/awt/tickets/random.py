"""A random mask: the honest floor under every method; with `layer_counts_of`, at another method's layer densities."""

from awt.options import options
from awt.tickets.masks import layer_counts, select, uniform
from awt.tickets.method import Method, Needs, Scoped
from awt.tickets.setting import Setting, Ticket


@options
class Options(Scoped):
    layer_counts_of: str | None = None  # the method whose layer densities it takes


def random(setting: Setting, options: Options) -> Ticket:
    kept = setting.kept(options.scope) if setting.other is None else layer_counts(setting.other)
    return Ticket(select(uniform(setting.network, setting.seed), kept))


METHOD = Method(random, Options, lambda options: Needs(mask_of=options.layer_counts_of))
