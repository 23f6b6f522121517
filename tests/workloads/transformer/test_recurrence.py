"""Recurrences have the parameters and products of Mamba-2, gated DeltaNet and lightning attention."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import (
    Recurrence,
    find_transformer,
    forward_flops,
    layer_kinds,
    layer_parameters,
)


def test_a_mamba_2_layer_by_hand() -> None:
    # Nemotron 3 Nano: 64 heads of 64, 8 groups, state 128: z, x, B, C and a step for each head.
    kind = next(kind for kind in layer_kinds(find_transformer("nemotron-3-nano")) if kind.mixer == "M")
    into, convolved = 2 * 4096 + 2 * 8 * 128 + 64, 4096 + 2 * 8 * 128
    own = convolved * (4 + 1) + 3 * 64 + 4096
    assert layer_parameters(kind.model, False).attention == 2688 * (into + 4096) + own
    assert layer_parameters(kind.model, False).total == 2688 * (into + 4096) + own + 2688


def test_a_gated_deltanet_by_hand() -> None:
    # Qwen3-Next: 16 heads of keys and 32 of values, all of 128; queries, keys, values, gate, decay and strength.
    kind = next(kind for kind in layer_kinds(find_transformer("qwen3-next-80b-a3b")) if kind.mixer == "M")
    into, convolved = 2 * 2048 + 2 * 4096 + 2 * 32, 2 * 2048 + 4096
    assert layer_parameters(kind.model, True).attention == 2048 * (into + 4096) + 4 * convolved + 2 * 32 + 128


def test_a_gate_doubles_the_queries_of_attention() -> None:
    kind = next(kind for kind in layer_kinds(find_transformer("qwen3-next-80b-a3b")) if kind.mixer == "*")
    assert layer_parameters(kind.model, True).attention == 2048 * 256 * (2 * 16 + 2 * 2 + 16) + 2 * 256


def test_its_products_do_not_grow_with_the_sequence() -> None:
    model = find_transformer("qwen3-next-80b-a3b")
    short, long = (forward_flops(model, length).layers.core_flops for length in (4096, 8192))
    # 12 layers of 16 heads of 256; 36 of 32 heads, whose state of 128 by 128 is read, changed and read.
    assert long - short == 12 * 2 * 4096 * 16 * (256 + 256)
    assert 2 * short - long == 36 * 2 * 3 * 32 * 128 * 128


def test_chunks_that_do_not_slide_see_half_of_a_chunk() -> None:
    model = find_transformer("llama4-scout")
    core = forward_flops(model, 32768, causal=True).layers.core_flops
    open_core, chunk_core = (2 * (seen + 1) / 2 * 40 * 256 for seen in (32768, 8192))
    assert core == pytest.approx(12 * open_core + 36 * chunk_core)


def test_an_indexer_looks_at_all_tokens_and_attention_at_those_chosen() -> None:
    model = find_transformer("deepseek-v3.2")
    short, long = (forward_flops(model, length).layers.core_flops for length in (4096, 8192))
    assert long - short == 61 * 4096 * 2 * 64 * 128


def test_heads_that_cannot_be_shared() -> None:
    with pytest.raises(InvalidInput, match="32 heads cannot be shared by 5 evenly"):
        Recurrence(32, 64, 5, 128)


def test_published_rates_of_a_hybrid_come_out() -> None:
    # Megatron Bridge, 26.06: 512 sequences of 8,192 tokens on 8 GB300 in 12.8 s are 905 TFLOP/s on each; it counts all
    # pairs of tokens, and scans with seven operations for each entry of the state where we have four.
    flops = 3 * forward_flops(find_transformer("nemotron-3-nano"), 8192).total_flops * 512 * 8192
    assert flops / 8 / 12.8 == pytest.approx(905e12, rel=0.01)
