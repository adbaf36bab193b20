"""Bad input gives one clear message that names it, exit code 2, no traceback, and changes nothing."""

import gzip
import socket
import struct
from pathlib import Path

import numpy as np
import pytest

PARAMETERS = {
    "unknown key": ("mask", {"tickets.densitys": [0.1]}, "tickets.densitys: unknown key; did you mean `densities`?"),
    "another method's option": (
        "mask",
        {"tickets.recipes.random.gamma": 1},
        "tickets.recipes.random.gamma: unknown key",
    ),
    "density 0": ("mask", {"tickets.densities": [0]}, "tickets.densities.0"),
    "density 1.4": ("mask", {"tickets.densities": [0.1, 1.4]}, "tickets.densities.1"),
    "density too low": ("mask", {"tickets.densities": [1e-6]}, "tickets.densities: 1e-06 keeps 0 weights"),
    "negative eps": ("kernel", {"threat.eps": -0.1}, "threat.eps"),
    "unknown method": ("mask", {"tickets.methods": ["awtt"]}, "did you mean `awt`?"),
    "a method that is not there": ("code", {"tickets.methods": ["mine:find"]}, "mine:find: there is no module 'mine'"),
    "unknown workflow": ("mask", {"workflow": "ticket"}, "workflow: 'ticket' is none of tickets, nor module:name"),
    "a base that is not there": ("mask", {"base": "pipelines/none"}, "base: pipelines/none has no params.yaml"),
    "not a number": ("retrain", {"retrain.learning_rate": float("nan")}, "retrain.learning_rate"),
    "retraining batch too large": ("mask", {"retrain.batch": 4096}, "retrain.batch: 4096"),
    "store at a URL whose package is not here": ("mask", {"runtime.store": "s3://bucket/store"}, "Install s3fs"),
    "batch too large": ("kernel", {"tickets.shared.batch": 4096}, "batch of the method awt: 4096"),
    "reference too large": ("kernel", {"kernel.reference_points": 4096}, "kernel.reference_points: 4096"),
    "missing GPU": ("kernel", {"runtime.device": "gpu"}, "runtime.device: gpu"),
    "store is a file": ("mask", {"runtime.store": "params.yaml"}, "runtime.store: params.yaml is a file"),
    "root astray": ("mask", {"root": "src"}, "root: src is no folder that this experiment lies in"),
    "missing data file": ("prepare", {"data.name": "npz", "data.path": "absent.npz"}, "absent.npz"),
}


def check(workspace, stage: str, message: str) -> None:
    before = workspace.results()
    done = workspace.stage(stage)
    assert done.returncode == 2, done.stdout + done.stderr
    errors = [line for line in done.stderr.splitlines() if line]
    assert len(errors) == 1, done.stderr
    assert errors[0].startswith("error: ")
    assert message in errors[0]
    assert workspace.results() == before


@pytest.mark.parametrize("fault", PARAMETERS)
def test_parameters(finished, copy_of, fault):
    stage, values, message = PARAMETERS[fault]
    workspace = copy_of(finished)
    workspace.edit(values)
    check(workspace, stage, message)


def test_unreadable_parameters(finished, copy_of):
    workspace = copy_of(finished)
    (workspace.folder / "params.yaml").write_text("root: [")
    check(workspace, "mask", "params.yaml: not readable YAML")


def test_environment(finished, copy_of):
    workspace = copy_of(finished)
    workspace.environment["AWT_EXECUTOR"] = "dask"
    check(workspace, "mask", "AWT_EXECUTOR")


@pytest.mark.parametrize(
    ("address", "message"), [("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1"), ("here", "is not host:port")]
)
def test_an_unreachable_cluster(finished, copy_of, address, message):
    workspace = copy_of(finished)
    workspace.environment |= {"AWT_EXECUTOR": "ray", "RAY_ADDRESS": address}
    check(workspace, "mask", message)


def test_a_port_that_is_not_ray_s(finished, copy_of):
    """One that takes connections and says nothing."""
    workspace = copy_of(finished)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        workspace.environment |= {"AWT_EXECUTOR": "ray", "RAY_ADDRESS": address}
        check(workspace, "mask", f"what listens at {address} is not a healthy Ray cluster")


def test_unequal_cores_in_one_process(finished, copy_of):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.edit({"runtime.resources": {"tile": {"cpus": 2}}})
    check(workspace, "kernel", "with the serial executor all kinds of a stage's cells need the same cpus")


def test_a_request_that_no_node_can_meet(finished, copy_of):
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment["AWT_EXECUTOR"] = "ray"
    workspace.edit({"runtime.resources": {"mask": {"cpus": 4096}}})
    check(workspace, "mask", "a mask cell asks for 4096 CPUs")


def images() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((40, 4, 4), np.float32), np.arange(40) % 4


def with_nan(x: np.ndarray) -> np.ndarray:
    x[3, 1, 2] = np.nan
    return x


NPZ = {
    "pickles": lambda x, y: {"x": x.astype(object), "y": y},
    "NaN": lambda x, y: {"x": with_nan(x), "y": y},
    "mismatched shapes": lambda x, y: {"x": x, "y": y[:-1]},
    "labels out of range": lambda x, y: {"x": x, "y": y - 1},
}


@pytest.mark.parametrize("fault", NPZ)
def test_npz_files(finished, copy_of, fault):
    make = NPZ[fault]
    workspace = copy_of(finished)
    path = workspace.folder / "mine.npz"
    np.savez(path, **make(*images()))
    workspace.edit({"data.name": "npz", "data.path": "mine.npz"})
    check(workspace, "prepare", "mine.npz")


def idx(values: np.ndarray) -> bytes:
    return struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.astype(np.uint8).tobytes()


IDX = {
    "truncated": lambda data: gzip.compress(data)[:-40],
    "bit-flipped": lambda data: gzip.compress(data[:100] + bytes([data[100] ^ 1]) + data[101:]),
    "not compressed, truncated": lambda data: data[:-40],
}


@pytest.mark.parametrize("fault", IDX)
def test_idx_files(finished, copy_of, fault):
    workspace = copy_of(finished)
    folder = Path(workspace.folder / "data" / "mnist")
    folder.mkdir(parents=True)
    ending = "" if fault.startswith("not") else ".gz"
    name = f"train-images-idx3-ubyte{ending}"
    content = IDX[fault](idx(np.zeros((60, 28, 28))))
    (folder / name).write_bytes(content)
    workspace.edit({"data.name": "mnist", "data.root": "data"})
    check(workspace, "prepare", name)
    assert (folder / name).read_bytes() == content


def test_missing_mnist(finished, copy_of):
    workspace = copy_of(finished)
    workspace.environment |= {"https_proxy": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"}
    workspace.edit({"data.name": "mnist", "data.root": "nowhere"})
    check(workspace, "prepare", "train-images-idx3-ubyte")


@pytest.mark.parametrize(("stage", "file"), [("retrain", "data/dataset.json"), ("report", "masks/index.json")])
def test_a_damaged_artifact(finished, copy_of, stage, file):
    workspace = copy_of(finished)
    path = workspace.folder / "artifacts" / file
    path.write_text(path.read_text()[:-20])
    check(workspace, stage, f"artifacts/{file}: not readable JSON")


def test_a_missing_artifact(finished, copy_of):
    workspace = copy_of(finished)
    (workspace.folder / "artifacts" / "data" / "dataset.npz").unlink()
    done = workspace.stage("retrain")
    assert done.returncode == 2
    assert "artifacts/data/dataset.npz is missing: run `dvc repro`" in done.stderr
