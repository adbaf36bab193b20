"""What the parameters of every workflow have."""

from awt.options import options
from awt.runtime.options import Runtime


@options
class Common:
    root: str = "."  # the way from the experiment's folder to the repository's
    base: str | None = None  # the experiment that this one differs from
    workflow: str = "tickets"
    runtime: Runtime = Runtime()
