"""ℓ(f(x), y): training without an attack."""

import jax

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits
from awt.attacks.pgd import Attack
from awt.training.objectives.objective import NoOptions, Objective


def attacked(
    options: NoOptions, logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
) -> jax.Array:
    return x


OBJECTIVE = Objective(attacked, passes=lambda steps, classes: 3, attacks=False)
