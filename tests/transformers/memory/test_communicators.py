"""Buffers of communicators: one of each kind of groups that have more than one rank."""

from dataclasses import replace

import pytest

from topoopt.transformers import FRAMEWORKS, Configuration, configuration_table
from topoopt.transformers.memory.accelerator import communicator_bytes

ONE = Configuration(tp=1, pp=1, dp=1, global_batch=64, sequence=64)
GIBIBYTE = 2**30


@pytest.mark.parametrize(
    ("degrees", "groups"),
    [
        ({}, 0),
        ({"dp": 8}, 1),
        ({"cp": 2}, 2),
        ({"tp": 8, "dp": 2}, 2),
        ({"tp": 8, "pp": 2, "dp": 2}, 3),
        ({"tp": 2, "pp": 2, "dp": 4, "cp": 2, "ep": 4}, 5),
    ],
)
def test_groups_of_one_rank_have_no_buffers(degrees: dict[str, int], groups: int) -> None:
    """688 MiB each: github.com/NVIDIA/nccl/issues/964, four A100."""
    table = configuration_table([replace(ONE, **degrees)])  # type: ignore[arg-type]
    found = communicator_bytes(table, FRAMEWORKS["megatron"])[0] / GIBIBYTE
    assert found == pytest.approx(groups * 688 / 1024, rel=0.01)


def test_the_context_is_what_a_first_communicator_leaves_of_a_measured_device() -> None:
    """1.6 GB with one communicator (github.com/NVIDIA/nccl/issues/864)."""
    rules = FRAMEWORKS["megatron"]
    assert rules.reserved_bytes + rules.group_bytes == pytest.approx(1.6e9, rel=0.01)
