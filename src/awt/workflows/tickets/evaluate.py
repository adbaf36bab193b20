"""The stage that attacks every trained network on the test set, and compares the networks' kernels, before and after
training."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from awt.artifacts import Arrays, curves, decode_json, decode_npy, decode_npz, encode_csv, encode_json, encode_npz
from awt.attacks.registry import suite as attacks_of
from awt.data.dataset import decode, described
from awt.evaluation import kernels, mixture
from awt.evaluation.kernels import KernelName
from awt.evaluation.scores import RESULTS, flags, metrics, points_of, score
from awt.kernels.tiles import INDEX
from awt.runtime.store import Entry
from awt.services.evaluation import Judged, chunks, dynamics_cell, examples_of, outcome_of, run_suite, sanity_cell
from awt.services.gram import PointSet, Request, Subject, compute, points_cell
from awt.workflows.tickets.grid import DATASET, DESCRIBED, PLOTS, Ticket, grid, initial
from awt.workflows.tickets.params import Params
from awt.workflows.workflow import ARTIFACTS, Inputs, Outs, Run

SANITY = ["method", "density", "seed", "against", "x", "adversarial"]
EVALUATION, EXAMPLES, KERNELS = (f"{ARTIFACTS}/{name}" for name in ("evaluation", "examples", "kernels"))

Assemble = Callable[[], Mapping[str, bytes | Path]]


def evaluate(run: Run, params: Params, inputs: Inputs) -> Outs:
    asked, tickets = params.evaluate, grid(params)
    pieces = chunks(asked.attacked(inputs.json(DESCRIBED)["counts"]["test"]), asked.chunk_points)
    networks = [_judged(params, inputs, one) for one in tickets]
    suites = {
        name: run_suite(run, attacks_of(name), asked.attacks, networks, pieces, asked.keep_examples)
        for name in asked.suites
    }
    checks = run([sanity_cell(one, asked.sanity_points) for one in networks]) if asked.sanity_points else []
    trained = _side_by_side(run, params, inputs, tickets)
    compared, gram_files = _compare_kernels(run, params, inputs, tickets)

    def rest() -> Mapping[str, bytes | Path]:
        signs, curve = _signs(tickets, checks)
        files, results = _results(params, tickets, suites, signs)
        return {
            **files,
            f"{PLOTS}/results.csv": encode_csv(results),
            f"{PLOTS}/sanity.csv": encode_csv(curve),
            f"{PLOTS}/dynamics.csv": encode_csv(trained()),
            f"{PLOTS}/mixture.csv": encode_csv(_mixture(params, inputs, tickets)),
            f"{ARTIFACTS}/metrics.json": encode_json(metrics(results, asked.suites)),
            **compared(),
        }

    return Outs(gram_files, rest)


def _judged(params: Params, inputs: Inputs, one: Ticket) -> Judged:
    files = {"dataset": inputs.source(DATASET), "model": inputs.source(one.model)}
    return Judged(one.name, params.model, params.threat, files)


def _results(
    params: Params,
    tickets: Sequence[Ticket],
    suites: Mapping[str, list[list[list[Entry]]]],
    signs: Sequence[Sequence[str]],
) -> tuple[dict[str, bytes], pd.DataFrame]:
    """By network what broke each point, and the table of accuracies."""
    asked = params.evaluate
    attacks = {name: attacks_of(name) for name in asked.suites}
    files, rows = {f"{EVALUATION}/index.json": encode_json({"suites": attacks})}, []
    for number, one in enumerate(tickets):
        points = points_of({name: outcome_of(outcomes[-1][number]) for name, outcomes in suites.items()})
        files[f"{EVALUATION}/{one.name}.npz"] = encode_npz(points)
        if asked.keep_examples:
            for name, outcomes in suites.items():
                examples = {
                    attack: examples_of(each[number]) for attack, each in zip(attacks[name], outcomes, strict=True)
                }
                arrays = {f"{attack}/{key}": array for attack, each in examples.items() for key, array in each.items()}
                files[f"{EXAMPLES}/{one.name}/{name}.npz"] = encode_npz(arrays)
        flagged = [*signs[number], *(sign for name in asked.suites for sign in flags(points, name, attacks[name]))]
        about = {**one.name.tags, "trains_all": one.recipe.method.trains_all}
        rows.append(about | score(points, asked.suites) | {"flags": "; ".join(flagged)})
    results = pd.DataFrame(rows)
    return files, results[[*RESULTS, *results.columns.difference(RESULTS)]]


def _signs(tickets: Sequence[Ticket], checks: Sequence[Entry]) -> tuple[list[list[str]], pd.DataFrame]:
    """Each network's flags, and the curves of robust accuracy."""
    if not checks:
        return [[] for _ in tickets], pd.DataFrame(columns=SANITY)
    found = [decode_json(entry.read("sanity.json"), "sanity.json") for entry in checks]
    rows = [
        (*one.name, against, x, share)
        for one, about in zip(tickets, found, strict=True)
        for against in ("eps", "steps")
        for x, share in about[against]
    ]
    return [about["flags"] for about in found], pd.DataFrame(rows, columns=SANITY)


def _side_by_side(run: Run, params: Params, inputs: Inputs, tickets: Sequence[Ticket]) -> Callable[[], pd.DataFrame]:
    """The figures of every ticket and the dense network while both train; nothing where not asked for."""
    if params.evaluate.dynamics_points == 0:
        return lambda: pd.DataFrame(columns=["method", "density", "seed", "epoch"])
    sparse = [one for one in tickets if one.is_sparse]
    files = [{"dataset": DATASET, "initial": initial(one.name.seed), "mask": one.mask} for one in sparse]
    pairs = [
        Judged(one.name, params.model, params.threat, {name: inputs.source(path) for name, path in own.items()})
        for one, own in zip(sparse, files, strict=True)
    ]
    entries = run([dynamics_cell(pair, params.retrain, params.evaluate.dynamics_points) for pair in pairs])
    return lambda: curves((entry.read("dynamics.csv") for entry in entries), [one.name for one in sparse])


def _mixture(params: Params, inputs: Inputs, tickets: Sequence[Ticket]) -> pd.DataFrame:
    """The closed forms, where they hold."""
    if not mixture.is_linear(params.data, params.model, params.threat):
        return pd.DataFrame(columns=mixture.COLUMNS)
    weights: dict[Any, Arrays] = {one.name: decode_npz(inputs.read(one.model), one.model) for one in tickets}
    dataset = decode(inputs.read(DATASET), DATASET)
    return mixture.table(params.data.gaussian, params.threat.eps, dataset, weights)


def _compare_kernels(
    run: Run, params: Params, inputs: Inputs, tickets: Sequence[Ticket]
) -> tuple[Assemble, dict[str, Any]]:
    """Every network's Gram matrix on the reference points, before and after training; and what is drawn of them. The
    dense network comes with its mask of ones, so that one program serves all."""
    count, data = params.kernel.reference_points, described(inputs.json(DESCRIBED))
    [points] = run([points_cell("train", count, inputs.source(DATASET))])
    reference = PointSet("train", count, points.source("x.npy"))
    requests = {}
    for one in tickets:
        mask = None if one.recipe.method.trains_all else inputs.source(one.mask)
        for when, path in (("initial", initial(one.name.seed)), ("trained", one.model)):
            weights = inputs.source(path)
            subject = Subject(*one.name, when == "trained", params.model, data, weights, mask)
            requests[KernelName(*one.name, when)] = Request(subject, reference)
    computed = dict(zip(requests, compute(run, list(requests.values()), params.kernel.tile_memory_gb), strict=True))
    files = {
        f"{KERNELS}/{name.folder}/{file}": entry.source("tile.npy")
        for name, gram in computed.items()
        for file, entry in gram.entries().items()
    }

    def rest() -> Mapping[str, bytes | Path]:
        labels = decode_npy(points.read("y.npy"), "y.npy")
        grams = {name: gram.gram() for name, gram in computed.items()}
        indices = {f"{KERNELS}/{n.folder}/{INDEX}": encode_json(gram.index.as_json()) for n, gram in computed.items()}
        return {
            **indices,
            f"{PLOTS}/kernels.csv": encode_csv(kernels.table(grams, labels)),
            f"{PLOTS}/spectra.csv": encode_csv(kernels.spectra(grams)),
            f"{PLOTS}/heatmaps.npz": encode_npz(kernels.heatmaps(grams, labels)),
        }

    return rest, files
