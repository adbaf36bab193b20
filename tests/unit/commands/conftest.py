"""What the commands' tests share: `awt` in this process."""

import sys
from collections.abc import Callable

import pytest

from awt.commands import main as command


@pytest.fixture
def awt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs `awt` in the current folder; returns its exit code and what it said."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["awt", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            command.main()
        said = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return end.value.code, said.out, said.err

    return run
