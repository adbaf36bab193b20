"""The stage that reads and verifies the data set, and splits it."""

from collections.abc import Mapping
from pathlib import Path

from awt.artifacts import decode_npz, encode_npz
from awt.data.prepare import prepare as read_and_split
from awt.keys import generator
from awt.workflows.tickets.params import Params
from awt.workflows.workflow import ARTIFACTS, Inputs, Outs, Run


def prepare(run: Run, params: Params, inputs: Inputs) -> Outs:
    def files() -> Mapping[str, bytes | Path]:
        found = shuffle_sorted_test_points(read_and_split(params.data, Path(params.root)), params.data.seed)
        return {f"{ARTIFACTS}/data/{name}": content for name, content in found.items()}

    return Outs(rest=files)


def shuffle_sorted_test_points(files: dict[str, bytes], seed: int) -> dict[str, bytes]:
    """Test points that come sorted by class, as folders of images do, are shuffled: so the first few are a fair sample
    wherever not all of them are attacked."""
    dataset = decode_npz(files["dataset.npz"], "dataset.npz")
    labels = dataset["test_y"]
    if (labels[1:] < labels[:-1]).any() or labels[0] == labels[-1]:
        return files
    order = generator(seed, "split", "order", "own test").permutation(len(labels))
    split = decode_npz(files["split.npz"], "split.npz")
    dataset |= {name: dataset[name][order] for name in ("test_x", "test_y")}
    split["test"] = split["test"][order]
    return files | {"dataset.npz": encode_npz(dataset), "split.npz": encode_npz(split)}
