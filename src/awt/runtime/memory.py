"""Keeping memory between computations, which take and free the same large buffers over and over."""

import ctypes

# of glibc's malloc.h
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def keep() -> None:
    """Has the C library keep what is freed for what is asked for next.

    Left alone, it gives large buffers back to the system, and each call of a compiled function has its pages made and
    zeroed again: 15 % of the time of an exact kernel, measured. Without glibc nothing is changed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_ARENA_MAX, 1)
