"""Adversarial winning tickets: sparse networks, found at initialisation, that train to be robust."""

__version__ = "0.1.0"
