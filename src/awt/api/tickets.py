"""Tickets: a method's mask, with what the method needs computed first, as pipelines compute it."""

import difflib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, cast

import jax.numpy as jnp

from awt.api.arguments import Points, checked_threat, dataset_of, mask_of, own_network, plain, weights_of
from awt.api.masks import density as share_kept
from awt.api.training import trained
from awt.api.wrapped import Wrapped
from awt.attacks.ball import Threat, ball
from awt.data.dataset import Dataset
from awt.errors import InputError
from awt.kernels.estimators import estimator
from awt.loading import is_reference
from awt.loop import UNWATCHED, Watch
from awt.models.network import Masks, Network, Weights
from awt.params.checking import checked
from awt.tickets.dense_side import attacked_batches, kernel_views, partition, seen_batches
from awt.tickets.method import Method, Needs, as_method, find, threat_of
from awt.tickets.method import method as method_of
from awt.tickets.registry import METHODS
from awt.tickets.setting import NO_THREAT, Setting, Ticket
from awt.training.options import Training


def find_ticket(
    method: str | Method | Callable[..., Ticket],
    network: Network,
    data: Points | None = None,
    density: float | None = None,
    threat: Threat | None = None,
    *,
    initial: Any = None,
    teacher: Any = None,
    seed: int = 0,
    watch: Watch = UNWATCHED,
    **options: Any,
) -> Ticket:
    """Finds a ticket: the mask of a method, which keeps exactly a share of the weights.

    Args:
      method: "awt", "imp", "snip", … (docs/library.md lists them), "module:name" of your own, a Method, or a function
        of a Setting and options.
      network: of `awt.network` or `awt.wrap`.
      data: the training points, (x, y) or a data set of `awt.dataset`; methods that look at none do without.
      density: the share of the weights that is kept; "dense" keeps all.
      threat: the perturbations that the ticket is looked for under; none: natural points.
      initial: θ₀, the weights at initialisation; without, `network.initialise(seed)`.
      teacher: weights of the dense network that the method compares with; without, it is trained first as the
        method's options say.
      seed: of all random choices.
      watch: what is told of progress, keeps checkpoints and may stop the search.
      options: the method's own, as in `tickets.recipes` of params.yaml. Where one names another method, as `mask_of`
        of "shuffled" does, it may be a ticket that you have; a name is found with that method's defaults.

    Returns: a Ticket with the mask, the search's curve, and for some methods the `start` of training.
    """
    own, (asked, name) = own_network(network), _method(method)
    other = next((mask_of(own, value.mask) for value in options.values() if isinstance(value, Ticket)), None)
    named = {key: "ticket" if isinstance(value, Ticket) else value for key, value in options.items()}
    settings: Any = checked(asked.options, plain(named), f"find_ticket({name})")
    kept = _density(own, plain(density), asked, name, other)
    weights = own.initialise(seed) if initial is None else weights_of(own, initial, "initial")
    needs, wanted = asked.needs(settings), checked_threat(threat)
    _check_structure(own, needs, name)
    if teacher is not None and needs.teacher is None:
        raise InputError(f"teacher: {name} with these options compares with none; leave it out")

    if data is None:
        seen, dataset = own, cast(Dataset, _NoData(name))
    else:
        seen, dataset = dataset_of(own, weights, data, clip=wanted.clip)
    looked_at = threat_of(settings, wanted)
    batch = None if data is None else getattr(settings, "batch", None)
    setting = Setting(
        network=seen,
        initial=weights,
        density=kept,
        seed=seed,
        dataset=dataset,
        other=other,
        threat=NO_THREAT if looked_at is None or data is None else ball(looked_at, dataset.std),
        watch=watch,
        indices=None if batch is None else partition(len(dataset.train_y), batch, seed),
        **_dense_side(seen, weights, teacher, dataset, looked_at or wanted, settings, needs, seed),
    )
    if needs.mask_of is not None and other is None:
        other = find_ticket(needs.mask_of, own, data, kept, threat, initial=initial, seed=seed).mask
        setting = replace(setting, other=other)
    return find(asked, setting, settings)


def _method(method: Any) -> tuple[Method, str]:
    """A method, and what errors call it."""
    if not isinstance(method, str):
        return as_method(method, "method"), getattr(method, "__name__", "method")
    if method not in METHODS and not is_reference(method):
        close = difflib.get_close_matches(method, METHODS, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(METHODS)}"
        raise InputError(f"method: {method!r} is neither a method of awt nor module:name; {hint}")
    return method_of(METHODS.get(method, method)), method


def _density(network: Network, density: Any, asked: Method, name: str, other: Masks | None) -> float:
    """The density that was asked for; without one, that of a ticket which the mask is made of."""
    if density is None and asked.is_dense:
        return 1.0
    if density is None and other is not None:
        return share_kept(other)
    if isinstance(density, bool) or not isinstance(density, int | float) or not 0 < density <= 1:
        raise InputError(f"density: {density!r}; it should be a number above 0, and 1 at most")
    if asked.is_dense and density != 1:
        raise InputError(f"density: {density}; {name} prunes nothing: leave it out")
    sizes = [math.prod(shape) for shape in network.kernel_shapes.values()]
    if math.floor(density * sum(sizes) + 0.5) < len(sizes):
        raise InputError(
            f"density: {density} of {sum(sizes)} weights leaves some of the {len(sizes)} layers without any; "
            f"it should be {len(sizes) / sum(sizes):.2g} at least"
        )
    return float(density)


def _check_structure(network: Network, needs: Needs, name: str) -> None:
    views = needs.views
    if views is not None and views.matched and views.estimator in ("full", "diagonal") and isinstance(network, Wrapped):
        raise InputError(
            f"find_ticket({name}): estimator: {views.estimator} needs the layers of one of awt's own networks; "
            "probe and residual take any function"
        )


def _dense_side(
    network: Network,
    initial: Weights,
    teacher: Any,
    dataset: Dataset,
    threat: Threat,
    settings: Any,
    needs: Needs,
    seed: int,
) -> dict[str, Any]:
    """What a method compares with: a teacher, its outputs on its adversarial examples, views of its kernel."""
    if needs.teacher is None:
        return {}
    around = ball(threat, dataset.std)
    if teacher is not None:
        dense = weights_of(network, teacher, "teacher")
    elif needs.teacher.epochs == 0:
        dense = initial
    else:
        training = Training(
            epochs=needs.teacher.epochs,
            batch=settings.batch,
            learning_rate=needs.teacher.learning_rate,
            attack=settings.attack,
        )
        dense, _ = trained(network, initial, network.everything(), dataset, around, training, seed)
    if not needs.outputs:
        return {"teacher": dense}
    batch = settings.batch
    adversarial, outputs = attacked_batches(network, around, settings.attack, dense, dataset, batch, seed)
    side = {"teacher": dense, "outputs": jnp.asarray(outputs)}
    if needs.views is None:
        return side
    chosen, epochs = estimator(needs.views.estimator, needs.views.probes), needs.views.epochs
    batches = seen_batches(dataset, batch, adversarial, outputs, seed)
    search, held_out = kernel_views(chosen, network, dense, batches, epochs if needs.views.matched else 0, seed)
    return side | {"views": {"search": search, "held_out": held_out}}


class _NoData:
    """Stands for data that was not given, until a method looks at it."""

    def __init__(self, method: str) -> None:
        self._method = method

    def __getattr__(self, name: str) -> NoReturn:
        raise InputError(f"data: {self._method} looks at training points; pass data=(x, y), or one of awt.dataset")
