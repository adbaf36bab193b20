"""One index page over the experiments of a repository, with their own pages and run records beside it."""

from awt.site.collect import Experiment, experiments, not_run
from awt.site.index import html

__all__ = ["Experiment", "experiments", "html", "not_run"]
