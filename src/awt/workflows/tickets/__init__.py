"""The tickets workflow: find sparse networks, train them adversarially, attack them, compare them with the dense one."""
