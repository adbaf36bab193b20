"""The tickets of an experiment, and where their files are."""

from typing import NamedTuple

from awt.names import TicketName
from awt.workflows.tickets.params import Params, Recipe
from awt.workflows.workflow import ARTIFACTS

DATASET, DESCRIBED = f"{ARTIFACTS}/data/dataset.npz", f"{ARTIFACTS}/data/dataset.json"
PLOTS = f"{ARTIFACTS}/plots"


class Ticket(NamedTuple):
    """One of the grid: what it is called, and the recipe that finds it."""

    name: TicketName
    recipe: Recipe

    @property
    def mask(self) -> str:
        return f"{ARTIFACTS}/masks/{self.name}.npz"

    @property
    def start(self) -> str:
        """What its training starts from."""
        return f"{ARTIFACTS}/masks/{self.name}-start.npz" if self.recipe.gives_start else initial(self.name.seed)

    @property
    def model(self) -> str:
        return f"{ARTIFACTS}/models/{self.name}.npz"

    @property
    def is_sparse(self) -> bool:
        """Whether it is trained under its mask."""
        return not (self.recipe.method.is_dense or self.recipe.method.trains_all)


def initial(seed: int) -> str:
    return f"{ARTIFACTS}/initial/seed-{seed}.npz"


def dense_side(recipe: str, seed: int, file: str) -> str:
    """A file of what a recipe's search compares with."""
    return f"{ARTIFACTS}/dense_side/{recipe}/seed-{seed}/{file}.npz"


def grid(params: Params) -> list[Ticket]:
    """Every recipe at every density from every seed; the dense network has one density."""
    return [
        Ticket(TicketName(recipe.name, density, seed), recipe)
        for recipe in params.recipes
        for density in ((1.0,) if recipe.method.is_dense else params.tickets.densities)
        for seed in params.seeds
    ]
