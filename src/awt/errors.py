"""The two ways a command fails, and how each ends: a message and an exit code, not a traceback."""

import errno
import sys
from collections.abc import Callable


class AwtError(Exception):
    """A failure that the user can act on; its text is the whole message."""

    exit_code = 1


class InputError(AwtError):
    """Bad input: a parameter, a file, an address. The message names it and says what would be right."""

    exit_code = 2


class WorkError(AwtError):
    """Work that failed though its input was good: a full disk, a dead cluster, a diverged run."""


class Interrupted(WorkError):  # noqa: N818  (nothing went wrong)
    """A stop was asked for (Ctrl-C, SIGTERM) and the work was checkpointed."""


def is_disk_full(error: BaseException) -> bool:
    """Whether an error, or what caused it, is a disk without room (libraries wrap the OSError in their own)."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if "No space left on device" in str(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


DISK_FULL = (
    "the disk is full ({error}); nothing is corrupted and finished cells are kept. "
    "Free some room, then run the same command again: it continues where it stopped"
)


def run(main: Callable[[], None]) -> int:
    """Runs a command and returns its exit code: 0 success, 1 failed work, 2 bad input."""
    try:
        main()
    except AwtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted; finished cells are kept, run again to continue", file=sys.stderr)
        return 1
    except Exception as error:
        if not is_disk_full(error):
            raise
        print(f"error: {DISK_FULL.format(error=error)}", file=sys.stderr)
        return 1
    return 0
