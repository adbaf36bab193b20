"""Training, as pipelines train tickets."""

import difflib
from typing import Any

from awt.api.arguments import Points, checked_threat, dataset_of, mask_of, own_network, plain, weights_of
from awt.api.wrapped import Wrapped
from awt.attacks.ball import Ball, Threat, ball
from awt.data.dataset import Dataset
from awt.errors import InputError
from awt.loading import is_reference
from awt.loop import UNWATCHED, Row, Watch
from awt.models.network import Masks, Network, Weights
from awt.params.checking import checked
from awt.training import adversarial
from awt.training.narrow import train_narrow
from awt.training.objectives.objective import objective
from awt.training.objectives.registry import OBJECTIVES, resolved
from awt.training.options import Training


def train(
    network: Network,
    initial: Any,
    mask: Masks | None,
    data: Points,
    threat: Threat | None = None,
    *,
    validation: Any = None,
    seed: int = 0,
    watch: Watch = UNWATCHED,
    **options: Any,
) -> tuple[Weights, list[Row]]:
    """Trains the network that a mask leaves, adversarially where there is a threat.

    Args:
      network: of `awt.network` or `awt.wrap`.
      initial: the weights that training starts from.
      mask: what is kept; none: everything.
      data: (x, y), or a data set of `awt.dataset`.
      threat: the perturbations that it is trained against.
      validation: (x, y) to measure accuracy on after each epoch.
      seed: of the batches' order and the attacks' random starts.
      watch: what is told of progress, keeps checkpoints and may stop it.
      options: `epochs`, and those of the section `retrain` of params.yaml: objective, batch, learning_rate, attack, …

    Returns: the trained weights, of which those that are not kept are exactly 0, and a row of figures an epoch.
    """
    own = own_network(network)
    settings = _checked_training(options)
    weights, asked = weights_of(own, initial, "initial"), checked_threat(threat)
    kept = mask_of(own, mask) or own.everything()
    seen, dataset = dataset_of(own, weights, data, validation, asked.clip)
    if settings.batch > len(dataset.train_y):
        raise InputError(f"train: batch: {settings.batch} is more than the {len(dataset.train_y)} training points")
    if settings.keep_epoch == "best" and not len(dataset.validation_y):
        raise InputError("train: keep_epoch: best goes by robust validation accuracy; pass validation=(x, y)")
    return trained(seen, weights, kept, dataset, ball(asked, dataset.std), settings, seed, watch)


def _checked_training(options: dict[str, Any]) -> Training:
    """The options of training, and in them those of its objective."""
    settings = checked(Training, plain(options), "train")
    name = settings.objective
    if name not in OBJECTIVES and not is_reference(name):
        close = difflib.get_close_matches(name, OBJECTIVES, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(OBJECTIVES)}"
        raise InputError(f"train: objective: {name!r} is no objective of awt, nor module:name; {hint}")
    kind = objective(OBJECTIVES.get(name, name)).options
    checked(kind, settings.objective_options, "train: objective_options")
    return resolved(settings)


def trained(
    network: Network,
    initial: Weights,
    mask: Masks,
    dataset: Dataset,
    threat: Ball,
    settings: Training,
    seed: int,
    watch: Watch = UNWATCHED,
) -> tuple[Weights, list[Row]]:
    """Without the units that the mask cuts off, where it is known what they are."""
    run = adversarial.train if isinstance(network, Wrapped) else train_narrow
    return run(network, initial, mask, dataset, threat, settings, seed, watch)
