"""What is refused, and in which words."""

import pytest

from awt.errors import InputError
from awt.planning.limits import check_disk, check_memory, check_resources
from awt.runtime.machines import Machine

MACHINE = Machine(2, 0, 8e9)


def test_resources_that_no_machine_has(experiment, lookout):
    for change, message in [
        ({"runtime.resources": {"retrain": {"cpus": 3}}}, r"a retrain cell asks for 3 CPUs, 0 GPUs, 0 GB"),
        ({"runtime.resources": {"mask": {"gpus": 1}}}, r"a mask cell asks for 1 CPUs, 1 GPUs"),
        ({"runtime.resources": {"default": {"memory_gb": 100}}}, r"100 GB, which no machine has \(2 CPUs, 0 GPUs"),
    ]:
        with pytest.raises(InputError, match=message):
            check_resources(lookout(experiment(change))[1], [MACHINE])
    check_resources(lookout(experiment())[1], [MACHINE])


def test_memory_that_no_machine_has():
    machines = [MACHINE, Machine(64, 0, 1e9)]
    for kind, advice in [("retrain", "a smaller batch"), ("evaluate", "a smaller chunk_points")]:
        with pytest.raises(InputError, match=rf"a {kind} cell takes 9 GB .*: choose {advice}"):
            check_memory({"mask": 1e9, kind: 9e9}, machines)
    check_memory({"mask": 1e9, "retrain": 7e9}, machines)


def test_disk_that_is_not_free(tmp_path):
    with pytest.raises(InputError, match=r"\(store and repository\): the experiment takes 1e\+09 GB of disk"):
        check_disk(1e15, 1e18, tmp_path, tmp_path)
    check_disk(1, 0, tmp_path, tmp_path)
