"""ℓ(f(x + r), y), r raising the loss (Madry et al., 2018)."""

import jax

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits
from awt.attacks.pgd import Attack, pgd
from awt.training.objectives.objective import NoOptions, Objective


def attacked(
    options: NoOptions, logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
) -> jax.Array:
    return pgd(logits, ball, attack, x, y, key)


OBJECTIVE = Objective(attacked, passes=lambda steps, classes: 2 * steps + 3)
