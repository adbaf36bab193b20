"""What an experiment will cost, before it runs: cells, operations, memory, disk and time, from its parameters alone."""
