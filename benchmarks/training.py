"""A step of PGD-10 adversarial training, ours against PyTorch: eager and compiled, MLP and CNN, batch 64 and 250.

The same network, weights, attack, optimiser and number of threads, in turn. Ours runs its steps in one compiled loop,
as training does. The last line printed is JSON: speed-ups are PyTorch's time ÷ ours, the worst over the batches; shares
are of the rate of this machine's matrix product.
"""

import argparse
import json
import statistics
from functools import partial
from typing import Any

from sidebyside import in_own_process, in_turn

STEPS, EPS = 10, 0.0924
ROUNDS = 5
BATCHES = {"mlp": (64, 250), "cnn": (64, 250)}
CALLS = {"mlp": 40, "cnn": 2}  # steps in one call of ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs=2, metavar=("NETWORK", "BATCH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(compare(arguments.case[0], int(arguments.case[1]))))
        return
    found: dict[str, Any] = {}
    heads = ("eager ms", "compiled ms", "ours ms", "eager ÷", "compiled ÷", "GEMM")
    print(f"{'network':9}{'batch':>6}" + "".join(f"{head:>13}" for head in heads))
    for network, batches in BATCHES.items():
        rows = []
        for batch in batches:
            row = in_own_process(__file__, ["--case", network, str(batch)])
            rows.append(row)
            milliseconds = [1e3 * row[name] for name in ("eager", "compiled", "ours")]
            numbers = [*milliseconds, row["eager_speedup"], row["compiled_speedup"], row["gemm_share"]]
            print(f"{network:9}{batch:6}" + "".join(f"{number:13.2f}" for number in numbers), flush=True)
        for name in ("eager_speedup", "compiled_speedup", "gemm_share"):
            key = {"eager_speedup": "speedup"}.get(name, name)
            found[f"train_{network}_{key}"] = round(min(row[name] for row in rows), 3)
    found["gemm_share"] = min(found[f"train_{network}_gemm_share"] for network in BATCHES)
    print(json.dumps(found))


def compare(name: str, batch: int) -> dict[str, float]:
    import jax
    import jax.numpy as jnp
    import numpy as np
    import torch

    from awt.attacks.ball import Ball
    from awt.models.layers import Normalise
    from awt.models.network import Network
    from awt.models.zoo import cnn, mlp
    from awt.params import Attack
    from awt.runtime import memory
    from awt.training.adversarial import Recipe, advance_epoch, start
    from torchside import images, module, pgd_training_step

    memory.keep()
    layers = mlp((28, 28, 1), (300, 100), 10, "glorot") if name == "mlp" else cnn((28, 28, 1), (32, 64, 1024), 10, "he")
    network = Network((Normalise((0.13,), (0.31,)), *layers))
    weights, mask = network.initialise(0), network.everything()
    rng = np.random.default_rng(0)
    calls = CALLS[name]
    x, y = rng.random((calls * batch, 28, 28, 1)).astype(np.float32), rng.integers(0, 10, calls * batch)
    recipe = Recipe(
        network, Ball("linf", EPS, (1.0,), True), Attack(steps=STEPS, step_size=None, random_start=True), 1e-3
    )
    ours = partial(
        advance_epoch,
        recipe,
        mask,
        jnp.asarray(x),
        jnp.asarray(y),
        np.arange(len(y)).reshape(calls, batch),
        jax.random.PRNGKey(0),
        start(recipe, weights, mask),
        0,
        calls,
    )
    torch_x, torch_y = images(x[:batch]), torch.from_numpy(y[:batch])
    eager = pgd_training_step(module(network, weights, (28, 28, 1)), EPS, STEPS)
    compiled = pgd_training_step(torch.compile(module(network, weights, (28, 28, 1))), EPS, STEPS)  # type: ignore[arg-type]
    check_same_outputs(network, weights, x[:8], images(x[:8]))
    mine, theirs, faster = in_turn(
        [ours, partial(eager, torch_x, torch_y), partial(compiled, torch_x, torch_y)], ROUNDS
    )
    mine = [seconds / calls for seconds in mine]
    ratios = [[rival / own for rival, own in zip(times, mine, strict=True)] for times in (theirs, faster)]
    return {
        "eager": statistics.median(theirs),
        "compiled": statistics.median(faster),
        "ours": statistics.median(mine),
        "eager_speedup": statistics.median(ratios[0]),
        "compiled_speedup": statistics.median(ratios[1]),
        "gemm_share": flops(network, batch) / statistics.median(mine) / gemm_rate(),
    }


def check_same_outputs(network: Any, weights: Any, x: Any, torch_x: Any) -> None:
    import numpy as np
    import torch

    from torchside import module

    with torch.no_grad():
        theirs = module(network, weights, (28, 28, 1))(torch_x).numpy()
    np.testing.assert_allclose(network.apply(weights, x), theirs, atol=1e-3)


def flops(network: Any, batch: int) -> float:
    """Of one step: an attack step goes through the network and back to its input, the last one to its weights too."""
    from awt.models.layers import Conv

    side, products = 28, []
    for layer in network.weighted:
        positions = side * side if isinstance(layer, Conv) else 1
        products.append(positions * layer.kernel_shape[-1] * _rows(layer))
        side = side // 2 if isinstance(layer, Conv) else side
    return 2.0 * batch * sum(products) * (2 * STEPS + 3)


def _rows(layer: Any) -> int:
    from math import prod

    return prod(layer.kernel_shape[:-1])


def gemm_rate() -> float:
    """Operations a second of a large product of matrices in float32."""
    import jax
    import jax.numpy as jnp

    size = 2048
    a = jnp.ones((size, size))
    product = jax.jit(lambda a: a @ a)
    [times] = in_turn([partial(product, a)], 3)
    return 2.0 * size**3 / min(times)


if __name__ == "__main__":
    main()
