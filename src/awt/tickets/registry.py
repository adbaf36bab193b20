"""The methods by name: a new one is a file beside this one and a line here (and in awt.params.Method and READS)."""

from collections.abc import Callable

from awt.tickets.awt import awt
from awt.tickets.concrete import concrete
from awt.tickets.dense import dense
from awt.tickets.dns import dns
from awt.tickets.grasp import grasp
from awt.tickets.imp import imp
from awt.tickets.iwi import iwi
from awt.tickets.magnitude import magnitude
from awt.tickets.random import random
from awt.tickets.setting import Setting, Ticket
from awt.tickets.shuffled import shuffled
from awt.tickets.snip import snip
from awt.tickets.synflow import synflow

METHODS: dict[str, Callable[[Setting], Ticket]] = {
    "awt": awt,
    "concrete": concrete,
    "dense": dense,
    "dns": dns,
    "grasp": grasp,
    "imp": imp,
    "iwi": iwi,
    "magnitude": magnitude,
    "random": random,
    "shuffled": shuffled,
    "snip": snip,
    "synflow": synflow,
}
