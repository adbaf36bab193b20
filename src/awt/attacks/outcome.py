"""What attacks leave behind: for every point what broke it, or that nothing did."""

from dataclasses import dataclass

import numpy as np

STANDING = -2  # in `Outcome.by`: no attack broke the point
NATURAL = -1  # it was wrong unperturbed


@dataclass(eq=False)
class Outcome:
    """By point: which attack broke it, the perturbed image that did, and that perturbation's size."""

    by: np.ndarray
    moved: np.ndarray
    size: np.ndarray

    @property
    def standing(self) -> np.ndarray:
        return self.by == STANDING
