"""Training without the units that a mask cuts off: the same result, to rounding, for a fraction of the work."""

from dataclasses import replace

from awt.attacks.ball import Ball
from awt.data.dataset import Dataset
from awt.loop import UNWATCHED, Row, Watch
from awt.models.compact import Compact, compact
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.training.adversarial import train
from awt.training.options import Training


def narrowed(network: Network, initial: Weights, mask: Masks, threat: Ball) -> Compact:
    """The network as it is trained under a threat."""
    # pixels that the network does not see take no part in ℓ∞ attacks; in others they do, as random starts go there
    return compact(network, initial, mask, pixels=threat.norm == "linf")


def train_narrow(
    network: Network,
    initial: Weights,
    mask: Masks,
    dataset: Dataset,
    threat: Ball,
    options: Training,
    seed: int,
    watch: Watch = UNWATCHED,
) -> tuple[Weights, list[Row]]:
    """`train` of what the mask leaves; returns weights of the whole network."""
    narrow = narrowed(network, initial, mask, threat)
    seen = replace(
        dataset,
        train_x=narrow.pixels(dataset.train_x),
        validation_x=narrow.pixels(dataset.validation_x),
        test_x=narrow.pixels(dataset.test_x),
    )
    weights, rows = train(
        narrow.network, narrow.weights(initial), narrow.mask(mask), seen, threat, options, seed, watch
    )
    return narrow.restored(weights, apply_mask(initial, mask)), rows
