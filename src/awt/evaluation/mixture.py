"""The Gaussian mixture in closed form: what a linear classifier of it withstands, without an attack.

Of a point such a classifier sees θ·x + b. Around ±μ, with deviation σ in every direction and an angle γ between θ and
μ, it errs with probability Φ(−‖μ‖cos γ/σ), and is right whatever a perturbation of ℓ2 size ε does with probability
Φ(‖μ‖cos γ/σ − ε/σ); b helps one class by as much as it harms the other. The paper's Table 3 adds the two: it counts
points that were wrong before as robust. The best classifier is θ = μ.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.svm import SVC

from awt.artifacts import Arrays
from awt.attacks.ball import Threat
from awt.data.dataset import Dataset
from awt.data.gaussian import radius
from awt.data.options import Data, Gaussian
from awt.models.architecture import Model
from awt.models.registry import NETWORKS, resolved
from awt.names import TicketName

COLUMNS = ["method", "density", "seed", "coordinates", "accuracy", "angle", "cosine", "robustness", "withstands"]
MARGIN = 1.0  # scikit-learn's default of C; the paper does not give its own, and from 0.1 on it changes nothing


class Line(NamedTuple):
    """A linear classifier in the mixture's own coordinates: the second class where θ·x + b > 0."""

    theta: np.ndarray
    offset: float


def is_linear(data: Data, model: Model, threat: Threat) -> bool:
    """Whether the closed forms are those of this network under this threat."""
    return (
        data.name == "gaussian"
        and (resolved(model).name, len(model.widths)) == (NETWORKS["mlp"], 0)
        and (threat.norm, threat.eps_unit) == ("l2", "pixel")
    )


def table(mixture: Gaussian, eps: float, dataset: Dataset, networks: Mapping[TicketName, Arrays]) -> pd.DataFrame:
    """A row for each trained network, and for a support vector machine and the best classifier beside them."""
    best = np.zeros(mixture.dimension)
    best[0] = 1.0
    lines = [(*name, of_network(mixture, dataset, weights)) for name, weights in networks.items()]
    lines += [("svm", 1.0, 0, machine(mixture, dataset)), ("bayes", 1.0, 0, Line(best, 0.0))]
    rows = [(*name, *figures(mixture, line, eps * 2 * radius(mixture))) for *name, line in lines]
    return pd.DataFrame(rows, columns=COLUMNS)


def of_network(mixture: Gaussian, dataset: Dataset, weights: Arrays) -> Line:
    """Of a network without hidden layers: the difference of its two outputs, through its normalisation and the map to
    [0, 1]."""
    kernel, bias = (np.asarray(weights[f"dense1/{name}"], np.float64) for name in ("kernel", "bias"))
    theta, (mean,), (std,) = kernel[:, 1] - kernel[:, 0], dataset.mean, dataset.std
    offset = bias[1] - bias[0] + theta.sum() * (0.5 - float(mean)) / float(std)
    return Line(theta / (2 * radius(mixture) * float(std)), offset)


def machine(mixture: Gaussian, dataset: Dataset) -> Line:
    """The linear support vector machine of the training points."""
    x = (dataset.train_x.reshape(len(dataset.train_y), -1).astype(np.float64) - 0.5) * 2 * radius(mixture)
    fitted = SVC(kernel="linear", C=MARGIN).fit(x, dataset.train_y)
    return Line(fitted.coef_[0], float(fitted.intercept_[0]))


def figures(mixture: Gaussian, line: Line, eps: float) -> tuple[int, float, float, float, float, float]:
    """Coordinates used, accuracy, angle, cosine, the paper's robustness, and the share that is right and stays so."""
    length = float(np.linalg.norm(line.theta))
    if length == 0:  # it says the same of every point, whatever is done to it
        return 0, 0.5, math.pi / 2, 0.0, 1.0, 0.5
    cosine = float(line.theta[0]) / length
    margins = [(mixture.distance * cosine + side * line.offset / length) / mixture.deviation for side in (1, -1)]
    accuracy = float(np.mean(norm.cdf(margins)))
    withstands = float(np.mean(norm.cdf(np.array(margins) - eps / mixture.deviation)))
    angle = math.acos(min(1.0, max(-1.0, cosine)))
    return int(np.count_nonzero(line.theta)), accuracy, angle, cosine, withstands + 1 - accuracy, withstands
