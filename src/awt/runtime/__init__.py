"""Running cells, on this process or on a Ray cluster, and keeping what they return; knows nothing of networks."""

from awt.runtime.cell import Cell, Source
from awt.runtime.context import Context
from awt.runtime.executor import Executor, Stats, open_executor
from awt.runtime.store import Entry, Store

__all__ = ["Cell", "Context", "Entry", "Executor", "Source", "Stats", "Store", "open_executor"]
