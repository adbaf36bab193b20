"""The rivals' side in PyTorch: the same networks with the same weights, attacks of torchattacks, PGD training."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from awt.models.layers import Conv, Dense, Flatten, MaxPool, Normalise, Relu
from awt.models.network import Network, Weights

torch.set_num_threads(os.cpu_count() or 1)


class _Scale(nn.Module):
    def __init__(self, layer: Normalise) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(layer.mean).reshape(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(layer.std).reshape(1, -1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.mean) / self.std


def module(network: Network, weights: Weights, shape: tuple[int, int, int]) -> nn.Module:
    """The network for images [n, channels, height, width]: dense rows are put into that order once."""
    parts: list[nn.Module] = []
    height, width, channels = shape
    for layer in network.layers:
        if isinstance(layer, Normalise):
            parts.append(_Scale(layer))
        elif isinstance(layer, Conv):
            made = nn.Conv2d(layer.inputs, layer.units, layer.size, padding="same")
            _set(made, np.asarray(weights[layer.name]["kernel"]).transpose(3, 2, 0, 1), weights[layer.name]["bias"])
            parts.append(made)
            channels = layer.units
        elif isinstance(layer, Dense):
            kernel = np.asarray(weights[layer.name]["kernel"])
            if channels:
                kernel = kernel.reshape(height, width, channels, -1).transpose(2, 0, 1, 3).reshape(len(kernel), -1)
                channels = 0  # the layers after it have units in one order
            linear = nn.Linear(layer.inputs, layer.units)
            _set(linear, kernel.T, weights[layer.name]["bias"])
            parts.append(linear)
        elif isinstance(layer, MaxPool):
            parts.append(nn.MaxPool2d(2))
            height, width = height // 2, width // 2
        else:
            parts.append({Relu: nn.ReLU, Flatten: nn.Flatten}[type(layer)]())
    return nn.Sequential(*parts).eval()


def _set(layer: Any, kernel: np.ndarray, bias: Any) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(kernel)))
        layer.bias.copy_(torch.from_numpy(np.array(bias)))


def images(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(np.transpose(x, (0, 3, 1, 2))))


def standing_after_each(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, eps: float, seed: int
) -> Iterator[tuple[str, int]]:
    """torchattacks' standard AutoAttack, attack by attack on what is left: name, points still standing."""
    import torchattacks

    classes = model(x[:1]).shape[1]
    with torch.no_grad():
        left = torch.nonzero(model(x).argmax(1) == y).ravel()
    yield "natural", len(left)
    common = {"eps": eps, "norm": "Linf", "seed": seed, "n_restarts": 1}
    iterated = common | {"steps": 100}  # its own default is 10; AutoAttack has 100
    attacks: dict[str, Callable[[], Any]] = {
        "apgd-ce": lambda: torchattacks.APGD(model, loss="ce", **iterated),
        "apgd-t": lambda: torchattacks.APGDT(model, n_classes=classes, **iterated),
        "fab-t": lambda: torchattacks.FAB(model, multi_targeted=True, n_classes=classes, **iterated),
        "square": lambda: torchattacks.Square(model, n_queries=5000, **common),
    }
    for name, make in attacks.items():
        moved = make()(x[left], y[left])
        moved = torch.minimum(torch.maximum(moved, x[left] - eps), x[left] + eps).clamp(0, 1)
        with torch.no_grad():
            left = left[model(moved).argmax(1) == y[left]]
        yield name, len(left)


def pgd_training_step(model: nn.Module, eps: float, steps: int) -> Callable[[torch.Tensor, torch.Tensor], float]:
    """One step of adversarial training by PGD with Adam."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss = nn.CrossEntropyLoss()
    size = 2.5 * eps / steps

    def step(x: torch.Tensor, y: torch.Tensor) -> float:
        moved = (x + torch.empty_like(x).uniform_(-eps, eps)).clamp_(0, 1)
        for _ in range(steps):
            moved.requires_grad_(True)
            (gradient,) = torch.autograd.grad(loss(model(moved), y), moved)
            with torch.no_grad():
                moved = moved + size * gradient.sign()
                moved = torch.minimum(torch.maximum(moved, x - eps), x + eps).clamp_(0, 1)
        optimiser.zero_grad(set_to_none=True)
        value = loss(model(moved.detach()), y)
        value.backward()
        optimiser.step()
        return value.item()

    return step
