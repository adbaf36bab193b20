"""A step of PGD-10 adversarial training, ours against PyTorch: eager and compiled, MLP and CNN, batch 64 and 250.

The same network, weights, attack, optimiser, number of threads and memory kept by the C library; in turn, each in a
process of its own. Ours runs its steps in one compiled loop, as training does. For the CNN PyTorch's eager is there a
second time, with images in the order `channels_last`, which its code for CPUs is fastest with. The last line printed is
JSON: speed-ups are PyTorch's time ÷ ours, the worst over the batches; shares are of the rate of a matrix product here.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from sidebyside import apart_in_turn, take_turns

STEPS, EPS = 10, 0.0924
SHAPE = (28, 28, 1)
ROUNDS = 11
BATCHES = (64, 250)
CALLS = {"mlp": 40, "cnn": 2}  # steps in one call of ours
RIVALS = {"mlp": ("eager", "compiled"), "cnn": ("eager", "compiled", "channels last")}
SIDE = 2048  # of the matrix product


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs=3, metavar=("CONTENDER", "NETWORK", "BATCH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        who, name, batch = arguments.case
        take_turns(contender(who, name, int(batch)))
        return
    found: dict[str, Any] = {}
    for name, rivals in RIVALS.items():
        heads = "".join(f"{who + ' ms':>18}{'÷ ours':>8}" for who in rivals)
        print(f"{'network':9}{'batch':>6}{'GEMM':>6}{'ours ms':>10}{heads}")
        rows = [compare(name, batch) for batch in BATCHES]
        for who in rivals:
            key = "speedup" if who == "eager" else f"{who.replace(' ', '_')}_speedup"
            found[f"train_{name}_{key}"] = round(min(row[who] for row in rows), 3)
        found[f"train_{name}_gemm_share"] = round(min(row["gemm"] for row in rows), 3)
    found["gemm_share"] = min(found[f"train_{name}_gemm_share"] for name in RIVALS)
    print(json.dumps(found))


def compare(name: str, batch: int) -> dict[str, float]:
    """Rivals' times ÷ ours, and our share of the matrix product's rate: medians of what the rounds say."""
    cases = [["--case", who, name, str(batch)] for who in ("ours", "gemm", *RIVALS[name])]
    mine, gemm, *rivals = apart_in_turn(__file__, cases, ROUNDS)
    mine = [seconds / CALLS[name] for seconds in mine]
    rate = [2.0 * SIDE**3 / seconds for seconds in gemm]
    found = {"gemm": statistics.median(flops(name, batch) / own / most for own, most in zip(mine, rate, strict=True))}
    line = f"{name:9}{batch:6}{found['gemm']:6.2f}{1e3 * statistics.median(mine):10.2f}"
    for who, times in zip(RIVALS[name], rivals, strict=True):
        found[who] = statistics.median(rival / own for rival, own in zip(times, mine, strict=True))
        line += f"{1e3 * statistics.median(times):18.2f}{found[who]:8.2f}"
    print(line, flush=True)
    return found


def contender(who: str, name: str, batch: int) -> Callable[[], Any]:
    from awt.runtime import memory

    memory.keep()
    if who == "gemm":
        return matrix_product()
    return ours(name, batch) if who == "ours" else theirs(who, name, batch)


def ours(name: str, batch: int) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    from awt.attacks.ball import Ball
    from awt.attacks.pgd import Attack
    from awt.training.adversarial import Program, advance_epoch, start

    network = network_of(name)
    weights, mask = network.initialise(0), network.everything()
    calls = CALLS[name]
    x, y = points(calls * batch)
    program = Program(
        network, Ball("linf", EPS, (1.0,), True), Attack(steps=STEPS, step_size=None, random_start=True), 1e-3
    )
    return partial(
        advance_epoch,
        program,
        mask,
        jnp.asarray(x),
        jnp.asarray(y),
        np.arange(len(y)).reshape(calls, batch),
        jax.random.PRNGKey(0),
        start(program, weights, mask),
        0,
        calls,
    )


def theirs(who: str, name: str, batch: int) -> Callable[[], Any]:
    import numpy as np
    import torch

    from torchside import images, module, pgd_training_step

    network = network_of(name)
    weights = network.initialise(0)
    x, y = points(batch)
    model, torch_x, torch_y = module(network, weights, SHAPE), images(x), torch.from_numpy(y)
    with torch.no_grad():
        np.testing.assert_allclose(network.apply(weights, x), model(torch_x).numpy(), atol=1e-3)
    if who == "compiled":
        model = torch.compile(model)  # type: ignore[assignment]
    elif who == "channels last":
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        torch_x = torch_x.contiguous(memory_format=torch.channels_last)
    return partial(pgd_training_step(model, EPS, STEPS), torch_x, torch_y)


def matrix_product() -> Callable[[], Any]:
    """A large one, in float32."""
    import jax
    import jax.numpy as jnp

    return partial(jax.jit(lambda a: a @ a), jnp.ones((SIDE, SIDE)))


def network_of(name: str) -> Any:
    from awt.models.cnn import cnn
    from awt.models.layers import Normalise
    from awt.models.mlp import mlp
    from awt.models.network import Network

    layers = mlp(SHAPE, (300, 100), 10, "glorot") if name == "mlp" else cnn(SHAPE, (32, 64, 1024), 10, "he")
    return Network((Normalise((0.13,), (0.31,)), *layers))


def points(number: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.random((number, *SHAPE)).astype(np.float32), rng.integers(0, 10, number)


def flops(name: str, batch: int) -> float:
    """Of one step: an attack step goes through the network and back to its input, the last one to its weights too."""
    from math import prod

    from awt.models.layers import Conv

    side, products = SHAPE[0], 0
    for layer in network_of(name).weighted:
        convolves = isinstance(layer, Conv)
        products += prod(layer.kernel_shape) * (side * side if convolves else 1)
        side = side // 2 if convolves else side
    return 2.0 * batch * products * (2 * STEPS + 3)


if __name__ == "__main__":
    main()
