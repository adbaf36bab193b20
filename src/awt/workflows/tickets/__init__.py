"""The tickets workflow: finds sparse networks, trains them adversarially, attacks them beside the dense one."""
