"""Cells that misbehave, for the copies of awt that tests make: this file becomes awt/trial.py there."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import ray


def hold(params, inputs, watch):
    """Stays for some seconds; returns where it ran, and how much of the node it and others had at once."""
    marks, node = Path(params["marks"]), ray.get_runtime_context().get_node_id()
    own = marks / f"{node}.{params['name']}={params['share']}"
    own.touch()
    most, deadline = 0.0, time.monotonic() + params["seconds"]
    while time.monotonic() < deadline:
        most = max(most, sum(float(path.name.partition("=")[2]) for path in marks.glob(f"{node}.*")))
        watch.progress(0, 1)
        watch.check_stop()
        time.sleep(0.02)
    own.unlink()
    return {"seen.json": json.dumps({"node": node, "most": most}).encode()}


def die(params, inputs, watch):
    """Takes its worker with it, every time."""
    os.kill(os.getpid(), signal.SIGKILL)


def large(params, inputs, watch):
    """Returns some megabytes."""
    return {"large": np.random.default_rng(params["seed"]).bytes(params["megabytes"] * 2**20)}


def hungry(params, inputs, watch):
    """Takes memory, and keeps it for a while."""
    taken = np.ones(int(params["gigabytes"] * 2**30 / 8))
    deadline = time.monotonic() + params["seconds"]
    while time.monotonic() < deadline:
        watch.progress(0, 1)
        time.sleep(0.1)
    return {"sum": str(taken.sum()).encode()}


def echo(params, inputs, watch):
    """As short as a cell can be."""
    return {"echo": str(params["number"]).encode()}
