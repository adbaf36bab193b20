"""Data sets: a reader each, the split, and what every later stage starts from."""
