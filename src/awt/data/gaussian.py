"""A mixture of two Gaussians, one a class: means at a distance from the origin on opposite sides, along the first
coordinate; the same deviation in every direction. The best classifier and its robustness have closed forms.

Points are generated, and mapped to [0, 1] like pixels: coordinates from -R to R, R = distance + 7 deviations, which are
10 by default. A network normalises its inputs, so it sees the same as without the map; but a perturbation of size ε
is one of ε / 2R here (2 is `threat.eps: 0.1`).
"""

from pathlib import Path

import numpy as np

from awt.artifacts import sha256
from awt.data.dataset import Raw
from awt.data.options import Data, Gaussian
from awt.keys import generator

DEVIATIONS = 7  # of a coordinate: one in 10¹² lies further out, and is moved to the edge


def read(data: Data, root: Path) -> Raw:
    mixture = data.gaussian
    random = generator(data.seed, "gaussian")
    y = np.arange(mixture.points, dtype=np.int32) % 2
    points = mixture.deviation * random.standard_normal((mixture.points, mixture.dimension))
    points[:, 0] += np.where(y == 1, mixture.distance, -mixture.distance)
    x = np.clip(0.5 + points / (2 * radius(mixture)), 0, 1).astype(np.float32)[:, np.newaxis, :, np.newaxis]
    digest = sha256(x.tobytes() + y.astype("<i4").tobytes())
    return Raw(x, y, None, None, scale=1.0, classes=2, sources={"gaussian": digest})


def radius(mixture: Gaussian) -> float:
    """R: coordinates from -R to R are those that are mapped to [0, 1]."""
    return mixture.distance + DEVIATIONS * mixture.deviation
