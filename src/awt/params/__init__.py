"""Parameters as people write them: read, merged with those they build on, and checked."""
