"""What context parallelism adds to activations: repeated heads, what is exchanged, what is gathered."""

from dataclasses import replace

import pytest

from topoopt.transformers import Configuration, configuration_table, memory
from topoopt.workloads.transformer import find_transformer

MODEL = replace(find_transformer("llama3-8b"), vocabulary=1)
"""32 layers, 32 heads of 128, 8 of keys and values; without logits, which are more than a layer needs for a moment."""
ONE = Configuration(tp=2, pp=1, dp=1, cp=8, global_batch=1, sequence=65536)


def added(cause: str, context: str, one: Configuration = ONE) -> float:
    """Return the bytes beyond those of a ring."""
    table = configuration_table([one, replace(one, context=context)])
    ring, other = getattr(memory(MODEL, table, "h100"), cause)
    return float(other - ring)


def test_exchanging_heads_keeps_one_head_of_keys_for_each_rank() -> None:
    """4 heads of a tensor parallel rank go to 8 context ranks: each keeps all tokens of one, twice the bytes."""
    assert added("activations", "ulysses") == pytest.approx(32 * 8192 * 2 * 2 * 128 * (8 - 4))
    assert added("activations", "ulysses", replace(ONE, cp=4)) == 0


def test_what_is_exchanged_is_there_twice_for_a_moment() -> None:
    assert added("buffers", "ulysses") == pytest.approx(8192 * 2 * 2 * 128 * (16 + 8))


def test_gathered_keys_are_there_for_a_moment_with_their_gradients() -> None:
    assert added("activations", "all-gather") == 0
    assert added("buffers", "all-gather") == pytest.approx(65536 * 2 * 2 * 2 * 4 * 128)


def test_sequences_that_are_whole_need_nothing_of_it() -> None:
    whole = replace(ONE, cp=1, sequence=8192)
    assert added("total", "ulysses", whole) == added("total", "all-gather", whole) == 0
