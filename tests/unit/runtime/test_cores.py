"""Cores: a process gets as many as it asks for, of its own where there are enough, and keeps them."""

import os
import subprocess
import sys
import threading

import pytest

from awt.runtime.cores import available

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")

PIN = """
import os, sys, threading
stop = threading.Event()
from awt.errors import InputError
from awt.runtime.cores import available, pin
try:
    for count in map(int, sys.argv[1:]):
        pin(count)
        print(available(), *os.sched_getaffinity(0), flush=True)
    if sys.stdin.readline():
        thread = threading.Thread(target=stop.wait)
        thread.start()
        pin(count)
        print(available(), *os.sched_getaffinity(0), flush=True)
        print(*os.sched_getaffinity(thread.native_id), flush=True)
        stop.set()
        sys.stdin.read()
except InputError as error:
    print(error)
"""


@pytest.fixture
def pinned(tmp_path):
    """Starts processes that pin themselves to cores, with locks of their own; returns them once pinned."""
    started = []

    def start(*counts):
        process = subprocess.Popen(
            [sys.executable, "-c", PIN, *map(str, counts)],
            env=os.environ | {"TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process, [process.stdout.readline().split() for _ in counts]

    yield start
    for process in started:
        process.communicate()


needs_two = pytest.mark.skipif(available() < 2, reason="needs two cores")


@needs_two
def test_processes_get_cores_of_their_own_and_a_killed_one_leaves_its_core(pinned):
    first, [(number, core)] = pinned(1)
    _, [(_, other)] = pinned(1)
    assert number == "1"
    assert core != other
    first.kill()
    first.wait()
    _, [(_, again)] = pinned(1)
    assert again == core


@needs_two
def test_without_free_cores_the_number_is_still_what_was_asked_for(pinned):
    _, [(all_cores, *_)] = pinned(available())
    _, [(one_core, _)] = pinned(1)
    assert (int(all_cores), int(one_core)) == (available(), 1)


@needs_two
def test_a_process_that_shares_a_core_moves_to_one_that_becomes_free_with_its_threads(pinned):
    everything, _ = pinned(available())
    sharing, _ = pinned(1)
    everything.kill()
    everything.wait()
    _, [(_, core)] = pinned(1)  # of the cores given back, the first
    sharing.stdin.write("again\n")
    sharing.stdin.flush()
    number, moved = sharing.stdout.readline().split()
    assert number == "1"
    assert moved != core
    assert sharing.stdout.readline().split() == [moved]


@needs_two
def test_a_core_that_is_about_to_be_free_is_waited_for(pinned):
    """As one stage's workers end while the next one's begin."""
    leaving, [_] = pinned(available())
    threading.Timer(0.5, leaving.kill).start()
    (_, [(_, one)]), (_, [(_, other)]) = pinned(1), pinned(1)
    assert one != other


def test_a_process_keeps_its_number_of_cores(pinned):
    _, [_, same, refusal] = pinned(1, 1, 2)
    assert same[0] == "1"
    assert "this process already computes with 1 cores, not 2" in " ".join(refusal)


def test_more_cores_than_there_are_is_the_user_s_mistake(pinned):
    _, [refusal] = pinned(available() + 1)
    assert f"asks for {available() + 1} cpus, but only {available()} are here" in " ".join(refusal)
