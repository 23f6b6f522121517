"""Kernels of recurrences: what Megatron copies where a micro-batch has several sequences."""

import numpy as np
import pytest

from topoopt.transformers import Configuration, configuration_table, find_calibration, usual_system
from topoopt.transformers.step_time.case import case_of
from topoopt.transformers.step_time.layer_time import copied_s, layer_kernels
from topoopt.workloads.transformer import find_transformer

NANO = find_transformer("nemotron-3-nano")


def test_sequences_beside_each_other_are_copied() -> None:
    ones = [
        Configuration(tp=1, pp=1, dp=8, ep=8, micro_batch=size, global_batch=32, sequence=8192)
        for size in (1, 2)
    ]
    case = case_of(NANO, configuration_table(ones), usual_system("gb200"), find_calibration("gb200"))
    alone, two = copied_s(case, np.array(1e-12))
    assert alone == 0
    # z, x of 4,096 numbers each, B and C of 8 groups of 128, 64 steps; and 4,096 that come out: read and written.
    assert two == pytest.approx(2 * 8192 * 4 * (2 * 4096 + 2 * 1024 + 64 + 4096) * 1e-12)
    one, both = layer_kernels(case).forward_s
    assert both > 1.9 * one
