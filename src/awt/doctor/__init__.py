"""Finding, before work starts, what will not work: on this machine and on every node of a cluster."""
