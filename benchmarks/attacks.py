"""AutoAttack (standard, ℓ∞), ours against torchattacks' in PyTorch: the same weights, the same MNIST points, one run.

The networks are adversarially trained here, once (kept in .awt/bench): the paper's MLP at ε = 0.3 standard deviations,
its CNN at ε = 0.3 pixels. Attack by attack, each side in turn on what its attacks before left: accuracy left, ours and
theirs, and the seconds of each. The last line is JSON: `autoattack_*_speedup` is their time ÷ ours, compilation
included; `*_warm_speedup` that of a second run of ours (MLP); `*_difference` is ours minus theirs, robust accuracy in
points, `*_component` the largest difference after any attack, and `*_spread` theirs between two seeds. The CNN takes an
hour and a half on two cores, the MLP ten minutes.
"""

import argparse
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

POINTS = 1000
BENCH = Path(".awt/bench")
NETWORKS = {
    "mlp": {"widths": (300, 100), "eps": 0.3, "unit": "std", "epochs": 5, "warmup": 0.0},
    "cnn": {"widths": (32, 64, 1024), "eps": 0.3, "unit": "pixel", "epochs": 2, "warmup": 0.6},
}
After = Iterator[tuple[str, int]]  # an attack's name, and how many points stand after it


def main() -> None:
    from awt.runtime import memory

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=NETWORKS, help="this one alone")
    parser.add_argument("--points", type=int, default=POINTS)
    arguments = parser.parse_args()
    memory.keep()
    found: dict[str, Any] = {}
    for network in [arguments.network] if arguments.network else NETWORKS:
        row = compare(network, arguments.points)
        found |= {f"autoattack_{network}_{name}": value for name, value in row.items()}
    print(json.dumps(found))


def compare(name: str, points: int) -> dict[str, float]:
    import torch

    from torchside import images, module, standing_after_each

    network, weights, dataset, ball = trained(name)
    x, y = dataset.test_x[:points], dataset.test_y[:points]
    ours = partial(ours_after_each, network, weights, ball, x, y)
    model, torch_x, torch_y = module(network, weights, dataset.shape), images(x), torch.from_numpy(y.astype("int64"))
    theirs = partial(standing_after_each, model, torch_x, torch_y, ball.eps * ball.unit[0])
    print(f"{name}: accuracy left of {points} points{'':5}ours  seconds    theirs  seconds")
    seconds, apart = [0.0, 0.0], [0.0]
    for (attack, mine, took), (_, other, they_took) in zip(_timed(ours()), _timed(theirs(0)), strict=True):
        left = 100 * mine / points, 100 * other / points
        print(f"  {attack:28}{left[0]:10.2f}{took:9.1f}{left[1]:10.2f}{they_took:9.1f}", flush=True)
        seconds = [seconds[0] + took, seconds[1] + they_took]
        apart.append(left[0] - left[1])
    row = {"speedup": seconds[1] / seconds[0], "difference": apart[-1], "component": max(map(abs, apart))}
    *_, (_, again) = theirs(1)
    row["spread"] = 100 * abs(again - other) / points
    if name == "mlp":
        row["warm_speedup"] = seconds[1] / sum(took for _, _, took in _timed(ours()))
    return {key: round(value, 2) for key, value in row.items()}


def _timed(run: After) -> Iterator[tuple[str, int, float]]:
    """What it yields, and the seconds that it took for it: other work between two of them does not count."""
    while True:
        began = time.perf_counter()
        try:
            name, standing = next(run)
        except StopIteration:
            return
        yield name, standing, time.perf_counter() - began


def ours_after_each(network: Any, weights: Any, ball: Any, x: Any, y: Any) -> After:
    import jax
    import numpy as np

    from awt.attacks.attacker import make
    from awt.attacks.battery import Victim, begin, keys_of, strike
    from awt.attacks.registry import resolved, suite

    victim, keys = Victim(network, weights), keys_of(jax.random.PRNGKey(0), np.arange(len(y)))
    outcome = begin(victim, x, y)
    yield "natural", int(outcome.standing.sum())
    for number, name in enumerate(suite("autoattack")):
        outcome = strike(victim, ball, make(*resolved(name, {})), number, x, y, keys, outcome)
        yield name, int(outcome.standing.sum())


def trained(name: str) -> tuple[Any, Any, Any, Any]:
    """The network, trained once and kept, with its data and ball."""
    from awt.attacks.ball import Threat, ball
    from awt.attacks.pgd import Attack
    from awt.data.dataset import decode
    from awt.data.options import Data
    from awt.data.prepare import prepare
    from awt.models.architecture import Model, build
    from awt.models.network import decode_weights, encode_weights
    from awt.models.registry import resolved
    from awt.runtime.context import Context
    from awt.training.adversarial import train
    from awt.training.options import Training

    recipe: Any = NETWORKS[name]
    files = prepare(Data(name="mnist", validation_share=0.0), Path())
    dataset = decode(files["dataset.npz"], "dataset.npz")
    model = Model(name=name, widths=tuple(recipe["widths"]), init="glorot" if name == "mlp" else "he")
    network = build(resolved(model), dataset)
    threat = ball(Threat(norm="linf", eps=recipe["eps"], eps_unit=recipe["unit"], clip=True), dataset.std)
    kept = BENCH / f"{name}-{recipe['epochs']}.npz"
    if not kept.exists():
        training = Training(
            epochs=recipe["epochs"],
            batch=64,
            learning_rate=1e-3,
            warmup_share=recipe["warmup"],
            attack=Attack(steps=10, step_size=None, random_start=True),
        )
        watch = Context(BENCH / f"{name}-checkpoints", 60.0, lambda lines, progress: False)
        initial, mask = network.initialise(0), network.everything()
        weights, _ = train(network, initial, mask, dataset, threat, training, 0, watch)
        BENCH.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(encode_weights(weights))
    return network, decode_weights(kept.read_bytes(), str(kept)), dataset, threat


if __name__ == "__main__":
    main()
