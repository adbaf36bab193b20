"""A training run small enough to be done whole in every test."""

from collections.abc import Callable
from typing import Any

import pytest

from awt.attacks.ball import Ball
from awt.data.dataset import Dataset
from awt.models.network import Masks, Network, Weights
from awt.options import from_json
from awt.runtime.context import Context
from awt.training.adversarial import train
from awt.training.options import Training


@pytest.fixture
def run_training(
    dataset: Dataset,
    random_weights: Callable[..., Weights],
    random_mask: Callable[..., Masks],
    training_section: dict[str, Any],
) -> Callable[..., Any]:
    """Trains a half-pruned network; keywords change the options of training."""

    def run(network: Network, context: Context, seed: int = 0, data: Dataset = dataset, **changes: Any) -> Any:
        threat, options = Ball("linf", 0.05, (1.0,), True), from_json(Training, training_section | changes)
        return train(network, random_weights(network), random_mask(network), data, threat, options, seed, context)

    return run
