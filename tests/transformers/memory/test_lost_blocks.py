"""Blocks of logits that the allocator cannot have again once smaller tensors settled in them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.transformers.shapes import small_model
from topoopt.transformers import Configuration, configuration_table, memory
from topoopt.transformers.memory.accelerator import common_of
from topoopt.transformers.memory.pipeline_stages import stage_of
from topoopt.transformers.memory.transient import lost_bytes

ONE = Configuration(tp=1, pp=1, dp=1, global_batch=64, sequence=4096, micro_batch=8, recompute="full")
TOKENS = 8 * 4096


def test_what_is_left_of_the_block_is_lost_where_gradients_settle_in_it() -> None:
    model = replace(small_model(), vocabulary=50_000)
    found = memory(model, configuration_table([ONE]), "a100-80gb", "fused", "scaling")
    settled = found.gradients[0] + found.activations[0]
    block = 4 * 50_000 * TOKENS
    assert block > 2 * settled
    hidden = 2 * 2 * 64 * TOKENS  # what enters the output layer, and its gradient
    assert found.buffers[0] == pytest.approx(block - settled + hidden)


@pytest.mark.parametrize(("vocabulary", "framework"), [(64, "scaling"), (50_000, "half-gradients")])
def test_nothing_is_lost_where_more_than_a_block_settles_or_gradients_are_allocated_before(
    vocabulary: int, framework: str
) -> None:
    model = replace(small_model(), vocabulary=vocabulary)
    table = configuration_table([ONE])
    common = common_of(model, table, "a100-80gb", "fused", framework)
    stage = stage_of(model, table, np.zeros(1, np.int64))
    assert np.all(lost_bytes(common.moment, stage, np.full(1, 4.0 * 64 * TOKENS), np.full(1, TOKENS)) == 0)
