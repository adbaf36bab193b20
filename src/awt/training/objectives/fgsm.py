"""ℓ(f(x + r), y) after one step of 1.25 ε from a random point (Wong et al., 2020)."""

import jax

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits
from awt.attacks.pgd import Attack, pgd
from awt.training.objectives.objective import NoOptions, Objective


def attacked(
    options: NoOptions, logits: Logits, ball: Ball, attack: Attack, x: jax.Array, y: jax.Array, key: jax.Array
) -> jax.Array:
    single = Attack(steps=1, step_size=None, random_start=True)
    return pgd(logits, ball, single, x, y, key, step=1.25 * ball.eps)


OBJECTIVE = Objective(attacked, passes=lambda steps, classes: 5)
