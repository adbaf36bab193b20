"""The methods by name: a new one is a file beside this one and a line here."""

METHODS = {
    "awt": "awt.tickets.awt:METHOD",
    "concrete": "awt.tickets.concrete:METHOD",
    "dense": "awt.tickets.dense:METHOD",
    "dns": "awt.tickets.dns:METHOD",
    "grasp": "awt.tickets.grasp:METHOD",
    "imp": "awt.tickets.imp:METHOD",
    "iwi": "awt.tickets.iwi:METHOD",
    "magnitude": "awt.tickets.magnitude:METHOD",
    "random": "awt.tickets.random:METHOD",
    "shuffled": "awt.tickets.shuffled:METHOD",
    "snip": "awt.tickets.snip:METHOD",
    "synflow": "awt.tickets.synflow:METHOD",
}
