"""A worker computes a cell as its key says, or says why it cannot."""

import os
import socket

import pytest

from awt.runtime.code import code_of
from awt.runtime.worker import Task, execute

FUNCTION = "awt.cells.mask:find_mask"
CODE = code_of([FUNCTION]).as_json()


def task(**changes):
    values = {
        "key": "00",
        "label": "a cell",
        "function": FUNCTION,  # never reached
        "params": {},
        "digests": {},
        "platform": "cpu",
        "checkpoints": "nowhere",
        "store_url": "",
        "checkpoint_seconds": 1e9,
        "threads": 1,
        "gpus": 0,
        "xla_flags": "",
        "functions": frozenset([FUNCTION]),
        "code": CODE,
    }
    return Task(**(values | changes))


def run(task):
    said = []
    outcome = execute(task, {}, lambda lines, progress: said.extend(lines))
    return outcome, "\n".join(said)


def test_other_versions_than_the_driver_s_are_refused():
    assert "jax" in CODE["distributions"]
    for name, here in CODE["distributions"].items():
        outcome, log = run(task(code=CODE | {"distributions": CODE["distributions"] | {name: "0.0.1"}}))
        assert outcome.failure == "input"
        assert f"has {name} {here}, the driver 0.0.1: install requirements.lock" in outcome.message
        assert outcome.message in log
        assert not outcome.trace


def test_other_code_than_the_driver_s_is_refused():
    other = CODE["modules"] | {"awt.cells.mask": "0" * 16, "mine": "0" * 16}
    outcome, log = run(task(code=CODE | {"modules": other}))
    assert outcome.failure == "input"
    assert outcome.message.startswith(f"{socket.gethostname()} has other code than the driver")
    assert "(awt.cells.mask, mine differ)" in outcome.message
    assert outcome.message in log


def test_functions_of_installed_packages_are_not_called():
    """Whoever described the cell."""
    outcome, _ = run(task(function="os:system"))
    assert outcome.failure == "input"
    assert outcome.message == "cell function os:system is neither one of awt's nor one of yours"


@pytest.mark.parametrize(
    ("gpus", "name", "value"),
    [(0.5, "XLA_PYTHON_CLIENT_PREALLOCATE", "false"), (1, "XLA_PYTHON_CLIENT_MEM_FRACTION", "0.90")],
)
def test_cells_that_share_a_gpu_take_memory_as_they_need_it(monkeypatch, gpus, name, value):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("XLA_FLAGS", os.environ["XLA_FLAGS"])  # put back after a task set its own
    for both in ("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION"):
        monkeypatch.setenv(both, "")
        monkeypatch.delenv(both)
    outcome, _ = run(task(platform="gpu:A100", gpus=gpus))
    assert outcome.message.startswith(f"runtime.device is gpu, but JAX on {socket.gethostname()} only has cpu")
    assert {both: os.environ[both] for both in os.environ if both.startswith("XLA_PYTHON_CLIENT")} == {name: value}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3"
