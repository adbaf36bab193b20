"""Workflows: a package each, with its parameters and one function a stage; and what runs any of them."""
