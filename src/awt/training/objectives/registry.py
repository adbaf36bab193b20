"""The objectives by name: a new one is a file beside this one and a line here."""

from dataclasses import replace

from awt.options import as_json
from awt.training.objectives.objective import objective
from awt.training.options import Training

OBJECTIVES = {
    "beta": "awt.training.objectives.beta:OBJECTIVE",
    "fgsm": "awt.training.objectives.fgsm:OBJECTIVE",
    "natural": "awt.training.objectives.natural:OBJECTIVE",
    "pgd": "awt.training.objectives.pgd:OBJECTIVE",
    "trades": "awt.training.objectives.trades:OBJECTIVE",
}


def resolved(training: Training) -> Training:
    """With `module:name` in place of a short name, and all of the objective's options, those at their defaults too."""
    reference = OBJECTIVES.get(training.objective, training.objective)
    chosen = objective(reference).options(**training.objective_options)
    return replace(training, objective=reference, objective_options=as_json(chosen))
