"""Which kind of device a run computes on: part of every cell's key."""

import functools
import platform as machine
import shutil
import subprocess
from pathlib import Path
from typing import Literal

from awt.errors import InputError


def local_gpus() -> list[str]:
    """Names of this machine's GPUs, without importing JAX (which would take their memory)."""
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return answer.stdout.splitlines() if answer.returncode == 0 else []


def platform(device: Literal["auto", "cpu", "gpu"], gpus: list[str], where: str) -> str:
    """`cpu`, or `gpu:` and the kinds of GPU, for the asked device on a machine or cluster with these GPUs."""
    if device == "cpu" or (device == "auto" and not gpus):
        return "cpu"
    if not gpus:
        raise InputError(f"runtime.device: gpu, but {where} has no GPU; set it to cpu or auto")
    return "gpu:" + "+".join(sorted(set(gpus)))


@functools.cache
def processor() -> str:
    """This machine's processor and the widest vectors that it adds with: a sum's last bits depend on them."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    except OSError:
        lines = {}
    about = {name.strip(): value.strip() for name, value in lines.items()}
    flags = about.get("flags", "").split()
    widest = next((flag for flag in ("avx512f", "avx2", "avx") if flag in flags), "")
    name = about.get("model name") or machine.processor() or machine.machine()
    return f"{name}, {widest}" if widest else name
