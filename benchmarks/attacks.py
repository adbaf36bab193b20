"""AutoAttack (standard, ℓ∞), ours against torchattacks' in PyTorch: the same weights, the same MNIST points, one run.

The networks are adversarially trained here, once (kept in .awt/bench): the paper's MLP at ε = 0.3 standard deviations,
its CNN at ε = 0.3 pixels. Printed after each attack: accuracy left, ours and theirs, and the seconds of each. The last
line is JSON: `autoattack_*_speedup` is their time ÷ ours, compilation included (`*_warm_speedup`: without it);
`autoattack_*_difference` is ours minus theirs, robust accuracy in points, and `*_spread` theirs between two seeds.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from sidebyside import in_own_process

POINTS = 1000
BENCH = Path(".awt/bench")
NETWORKS = {
    "mlp": {"widths": (300, 100), "eps": 0.3, "unit": "std", "epochs": 5, "warmup": 0.0},
    "cnn": {"widths": (32, 64, 1024), "eps": 0.3, "unit": "pixel", "epochs": 6, "warmup": 0.5},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=NETWORKS, help="this one alone")
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(compare(arguments.case, arguments.points)))
        return
    found: dict[str, Any] = {}
    for network in [arguments.network] if arguments.network else NETWORKS:
        row = in_own_process(__file__, ["--case", network, "--points", str(arguments.points)], minutes=None)
        print(f"{network}: {arguments.points} points{'':12}ours        theirs   (accuracy left, %; seconds)")
        for name, (ours, seconds, theirs, their_seconds) in row.pop("attacks").items():
            print(f"  {name:20}{ours:8.2f} {seconds:8.1f}{theirs:8.2f} {their_seconds:8.1f}", flush=True)
        found |= {f"autoattack_{network}_{name}": value for name, value in row.items()}
    print(json.dumps(found))


def compare(name: str, points: int) -> dict[str, Any]:
    import torch

    from awt.runtime import memory
    from torchside import images, module, standing_after_each

    memory.keep()
    network, weights, dataset, ball = trained(name)
    x, y = dataset.test_x[:points], dataset.test_y[:points]
    model, torch_x = module(network, weights, dataset.shape), images(x)
    torch_y = torch.from_numpy(y.astype("int64"))
    eps = ball.eps * ball.unit[0]
    ours = list(_timed(lambda: ours_after_each(network, weights, ball, x, y)))
    theirs = list(_timed(lambda: standing_after_each(model, torch_x, torch_y, eps, 0)))
    warm = list(_timed(lambda: ours_after_each(network, weights, ball, x, y)))
    again = list(_timed(lambda: standing_after_each(model, torch_x, torch_y, eps, 1))) if name == "mlp" else theirs
    totals = [sum(seconds for _, _, seconds in rows) for rows in (ours, theirs, warm)]

    def percent(standing: int) -> float:
        return 100 * standing / points

    return {
        "attacks": {
            one: (percent(mine), seconds, percent(other), their_seconds)
            for (one, mine, seconds), (_, other, their_seconds) in zip(ours, theirs, strict=True)
        },
        "speedup": round(totals[1] / totals[0], 2),
        "warm_speedup": round(totals[1] / totals[2], 2),
        "difference": round(percent(ours[-1][1]) - percent(theirs[-1][1]), 2),
        "spread": round(abs(percent(again[-1][1]) - percent(theirs[-1][1])), 2),
    }


def _timed(run: Any) -> Any:
    began = time.perf_counter()
    for name, standing in run():
        now = time.perf_counter()
        yield name, standing, now - began
        began = now


def ours_after_each(network: Any, weights: Any, ball: Any, x: Any, y: Any) -> Any:
    import jax
    import numpy as np

    from awt.attacks.battery import Model, begin, keys_of, strike
    from awt.attacks.registry import attacker
    from awt.params import SUITES

    model, keys = Model(network, weights), keys_of(jax.random.PRNGKey(0), np.arange(len(y)))
    outcome = begin(model, x, y)
    yield "natural", int(outcome.standing.sum())
    for number, name in enumerate(SUITES["autoattack"]):
        outcome = strike(model, ball, attacker(name, {}), number, x, y, keys, outcome)
        yield name, int(outcome.standing.sum())


def trained(name: str) -> tuple[Any, Any, Any, Any]:
    """The network, trained once and kept, with its data and ball."""
    from awt.attacks.ball import ball
    from awt.data import prepare
    from awt.data.dataset import decode
    from awt.models.network import decode_weights, encode_weights
    from awt.models.zoo import build
    from awt.params import Attack, Data, Model, Retrain, Threat
    from awt.runtime import Context
    from awt.training.adversarial import train

    recipe: Any = NETWORKS[name]
    asked = {"root": None, "path": None, "sha256": None, "validation": 0, "test": 0.2, "limit": None, "seed": 0}
    files = prepare(Data.of({"name": "mnist", **asked}), Path())
    dataset = decode(files["dataset.npz"], "dataset.npz")
    network = build(Model(name=name, widths=recipe["widths"], init="glorot" if name == "mlp" else "he"), dataset)
    threat = ball(Threat(norm="linf", eps=recipe["eps"], eps_unit=recipe["unit"], clip=True), dataset.std)
    kept = BENCH / f"{name}-{recipe['epochs']}.npz"
    if not kept.exists():
        retrain = Retrain(
            epochs=recipe["epochs"],
            batch=64,
            learning_rate=1e-3 if name == "mlp" else 5e-4,
            warmup=recipe["warmup"],
            attack=Attack(steps=10, step_size=None, random_start=True),
        )
        context = Context(BENCH / f"{name}-checkpoints", 60.0, lambda lines, progress: False)
        initial, mask = network.initialise(0), network.everything()
        weights, _ = train(network, initial, mask, dataset, threat, retrain, 0, context)
        BENCH.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(encode_weights(weights))
    return network, decode_weights(kept.read_bytes(), str(kept)), dataset, threat


if __name__ == "__main__":
    main()
