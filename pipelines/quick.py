"""Runs every experiment that two cores manage: each one's quick/, and gaussian_toy. For a nightly job: `make quick`.

An experiment whose data is not here is left out, with a message; one that fails, or takes longer than 15 minutes, fails
the run. Names of experiments as arguments run only those.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from awt.data.prepare import data_root
from awt.workflows.experiment import experiment

PIPELINES = Path(__file__).parent


def experiments() -> list[Path]:
    return [PIPELINES / "gaussian_toy", *sorted(path.parent for path in PIPELINES.glob("*/quick/params.yaml"))]


def missing(folder: Path) -> str | None:
    """The data that an experiment needs and that is not on this machine, where it would have to be fetched first."""
    data = experiment(folder).params.data
    if data.name in ("digits", "gaussian", "npz"):
        return None
    place = data_root(data, PIPELINES.parent) / (data.path or data.name)
    return None if place.exists() else str(place)


def run(folder: Path, limit: float) -> bool:
    name = folder.relative_to(PIPELINES).as_posix()
    if (place := missing(folder)) is not None:
        print(f"{name}: left out, {place} is not there", flush=True)
        return True
    began = time.monotonic()
    process = subprocess.Popen(["dvc", "repro", "dvc.yaml"], cwd=folder, start_new_session=True)
    try:
        done = process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        done = False
    finally:
        if process.poll() is None:  # too long, or Ctrl-C: DVC, and the stage that runs
            os.killpg(process.pid, signal.SIGINT)
            process.wait()
    there = (folder / "report" / "index.html").exists()
    print(f"{name}: {'done' if done and there else 'FAILED'}, {time.monotonic() - began:.0f} s", flush=True)
    return done and there


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="e.g. mnist_cnn/quick; none: all")
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS", help="for each; 900 unless said")
    arguments = parser.parse_args()
    asked = {PIPELINES / name.removeprefix("pipelines/").rstrip("/") for name in arguments.names}
    if unknown := asked - set(experiments()):
        print(f"no quick experiment: {', '.join(map(str, unknown))}", file=sys.stderr)
        return 2
    os.environ.setdefault("DVC_NO_ANALYTICS", "1")
    chosen = [folder for folder in experiments() if not asked or folder in asked]
    failed = [folder for folder in chosen if not run(folder, arguments.limit)]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
