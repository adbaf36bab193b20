"""Masks: the kernel-matching search and its rivals, each (setting, density, …) -> mask."""
