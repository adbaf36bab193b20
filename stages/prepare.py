"""Reads and verifies the data set and splits it; test points that come sorted by class, as folders of images do, are
shuffled, so that the first few are a fair sample wherever not all of them are attacked."""

import sys

from awt.artifacts import decode_npz, encode_npz
from awt.data import prepare
from awt.errors import run
from awt.keys import generator
from awt.stage import ARTIFACTS, stage


def mixed(files: dict[str, bytes], seed: int) -> dict[str, bytes]:
    dataset = decode_npz(files["dataset.npz"], "dataset.npz")
    labels = dataset["test_y"]
    if (labels[1:] < labels[:-1]).any() or labels[0] == labels[-1]:
        return files
    order = generator(seed, "split", "order", "own test").permutation(len(labels))
    split = decode_npz(files["split.npz"], "split.npz")
    dataset |= {name: dataset[name][order] for name in ("test_x", "test_y")}
    split["test"] = split["test"][order]
    return files | {"dataset.npz": encode_npz(dataset), "split.npz": encode_npz(split)}


def main() -> None:
    with stage("prepare") as work:
        files = prepare(work.params.data, work.repository)
        work.publish(ARTIFACTS / "data", mixed(files, work.params.data.seed))


if __name__ == "__main__":
    sys.exit(run(main))
