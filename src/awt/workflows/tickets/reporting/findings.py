"""What the report is made from, already read: nothing in this package touches a file."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from awt.artifacts import Arrays
from awt.workflows.tickets.params import Params


@dataclass(frozen=True)
class Findings:
    """The outcome of an experiment.

    Attributes:
        params: its parameters.
        dataset: name, shape, classes, counts per part, mean, std, sources.
        results: method, density, seed, trains_all (its result is dense, whatever its mask), natural, adversarial
            (shares in 0..1; under the first suite of attacks), points, flags (why the robustness is not to be
            believed), a column for each further suite; and <column>_low and <column>_high, 95 % intervals.
        sanity: method, density, seed, against ("eps" or "steps"), x, adversarial.
        dynamics: method, density, seed, epoch, gap, gap_adversarial, bound, and more of awt.evaluation.dynamics; no
            rows where it was not asked for.
        mixture: method, density, seed, coordinates, accuracy, angle, cosine, robustness, withstands, of linear
            classifiers of the Gaussian mixture in closed form; no rows for other data.
        search: method, density, seed, epoch, target_distance, kernel_distance, kernel_distance_error,
            changed, kept, and `kept <layer>` of each layer; rows only of the methods that search.
        retrain: method, density, seed, epoch, loss, train_adversarial, validation_natural,
            validation_adversarial; validation is NaN without a validation part.
        kernels: method, density, seed, when ("initial" or "trained"), distance_to_dense, radius, angle,
            concentration, alignment, condition, lambda_min of the class-traced tangent kernels; nan is unknown.
        spectra: method, density, seed, when, index (from 1), eigenvalue (descending).
        heatmaps: labels [s], and of one seed's kernels "method-density-seedN-when" [s, s], points by label.
        masks: one {method, density, seed, file, kept, total, layers: {name: {kept, size}}} per ticket.
        versions: package to version.
        hashes: artifact to its sha256.
        records: stage to a relative link to its run record. Linked, never embedded: a record has times and
            hosts, and the report is to be the same bytes wherever it is made.
    """

    params: Params
    dataset: dict[str, Any]
    results: pd.DataFrame
    sanity: pd.DataFrame
    dynamics: pd.DataFrame
    mixture: pd.DataFrame
    search: pd.DataFrame
    retrain: pd.DataFrame
    kernels: pd.DataFrame
    spectra: pd.DataFrame
    heatmaps: Arrays
    masks: list[dict[str, Any]]
    versions: dict[str, str]
    hashes: dict[str, str]
    records: dict[str, str]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The accuracies that the results have."""
        return ("natural", "adversarial", *self.params.evaluate.suites[1:])
