"""Adversarial training of a masked network from its initial weights."""
