"""Adversarial examples: perturbations of inputs inside a norm ball, in pixel units."""
