"""A training run small enough to be done whole in every test."""

from collections.abc import Callable
from typing import Any

import pytest

from awt.attacks.ball import Ball
from awt.data.dataset import Dataset
from awt.models.network import Masks, Network, Weights
from awt.params import Retrain
from awt.runtime.context import Context
from awt.training.adversarial import train

RETRAIN = {
    "epochs": 3,
    "batch": 5,
    "learning_rate": 0.02,
    "attack": {"steps": 2, "step_size": None, "random_start": True},
}


@pytest.fixture(scope="session")
def retrain_section() -> dict[str, Any]:
    return RETRAIN


@pytest.fixture
def run_training(
    dataset: Dataset, random_weights: Callable[..., Weights], random_mask: Callable[..., Masks]
) -> Callable[..., Any]:
    """Trains a half-pruned network; keywords change the parameters of retraining."""

    def run(network: Network, context: Context, seed: int = 0, data: Dataset = dataset, **changes: Any) -> Any:
        threat, section = Ball("linf", 0.05, (1.0,), True), Retrain.of(RETRAIN | changes)
        return train(network, random_weights(network), random_mask(network), data, threat, section, seed, context)

    return run
