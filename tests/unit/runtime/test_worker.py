"""A worker computes a cell as its key says, or says why it cannot."""

from awt.runtime.cell import numeric_versions
from awt.runtime.worker import Task, execute


def task(**changes):
    values = {
        "key": "00",
        "label": "a cell",
        "function": "awt.nowhere:nothing",  # never reached
        "params": {},
        "digests": {},
        "platform": "cpu",
        "checkpoints": "nowhere",
        "checkpoint_seconds": 1e9,
        "threads": 1,
        "xla_flags": "",
        "versions": numeric_versions(),
    }
    return Task(**(values | changes))


def run(task):
    said = []
    outcome = execute(task, {}, lambda lines, progress: said.extend(lines))
    return outcome, "\n".join(said)


def test_other_versions_than_the_driver_s_are_refused():
    for name, here in numeric_versions().items():
        outcome, log = run(task(versions=numeric_versions() | {name: "0.0.1"}))
        assert outcome.failure == "input"
        assert f"has {name} {here}, the driver 0.0.1: install requirements.lock" in outcome.message
        assert outcome.message in log
        assert not outcome.trace
