"""The methods by name: a new one is a file beside this one and a line here (and in awt.params.Method)."""

from collections.abc import Callable

from awt.tickets.awt import awt
from awt.tickets.dense import dense
from awt.tickets.magnitude import magnitude
from awt.tickets.random import random
from awt.tickets.setting import Setting, Ticket

METHODS: dict[str, Callable[[Setting], Ticket]] = {
    "awt": awt,
    "dense": dense,
    "magnitude": magnitude,
    "random": random,
}
