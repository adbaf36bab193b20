"""What a user says of the data: which, where it is, and how it is split."""

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Lt

from awt.options import options

Positive = Annotated[int, Ge(1)]
Seed = Annotated[int, Ge(0), Lt(2**31)]


@options
class Gaussian:
    """The generated mixture of two classes."""

    points: Annotated[int, Ge(2)] = 5000
    dimension: Positive = 100
    distance: Annotated[float, Ge(0)] = 3.0
    deviation: Annotated[float, Gt(0)] = 1.0


@options
class Data:
    name: Literal["cifar10", "cifar100", "digits", "fashion_mnist", "folder", "gaussian", "mnist", "npz"] = "digits"
    root: str | None = None
    path: str | None = None
    sha256: str | None = None
    validation_share: Annotated[float, Ge(0), Lt(1)] = 0.1
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    train_limit: Positive | None = None
    seed: Seed = 0
    size: tuple[Positive, Positive] | None = None
    gaussian: Gaussian = Gaussian()

    def __post_init__(self) -> None:
        if (self.name in ("npz", "folder")) != (self.path is not None):
            raise ValueError("`path` names the data of `name: npz` or `name: folder`, and is null for every other")
        if self.size is not None and self.name != "folder":
            raise ValueError("`size` is what images of `name: folder` are resized to, and is null for every other")
        if self.sha256 is not None and not (len(self.sha256) == 64 and set(self.sha256) <= set("0123456789abcdef")):
            raise ValueError(f"`sha256` is 64 hexadecimal digits, not {self.sha256!r}")
