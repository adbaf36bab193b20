"""Trained networks as files for others, to be used without awt."""
