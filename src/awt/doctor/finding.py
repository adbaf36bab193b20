"""What the doctor says of one thing, and how a check that breaks down is itself a finding."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from awt.errors import AwtError

State = Literal["ok", "warning", "FAIL"]


class Finding(NamedTuple):
    """Of one check, at one place ("" is this machine); the text of what is not ok says what to do."""

    check: str
    state: State
    text: str
    where: str = ""


def guarded(check: str, find: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of a check, whatever is broken: what it stumbles over is its last finding."""
    try:
        yield from find()
    except Exception as error:
        yield of_error(check, error)


def of_error(check: str, error: Exception) -> Finding:
    text = " ".join(str(error).split())
    return Finding(check, "FAIL", text if isinstance(error, AwtError) else f"{type(error).__name__}: {text}")
