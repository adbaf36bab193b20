"""The experiment in the current folder, for commands that know what a ticket is."""

from awt.errors import InputError
from awt.workflows.experiment import Experiment, experiment
from awt.workflows.tickets.params import Params


def tickets_experiment(command: str) -> tuple[Experiment, Params]:
    """The experiment and its parameters, which must be those of the tickets workflow."""
    asked = experiment()
    if not isinstance(asked.params, Params):
        raise InputError(f"workflow: `awt {command}` knows the networks of `tickets`, not of {asked.workflow.name!r}")
    return asked, asked.params
