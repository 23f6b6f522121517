"""A configuration that cannot be run is refused in one line with the nearest valid values."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.transformers import Configuration, check_configuration, chunk_counts, chunk_layers, divisors
from topoopt.workloads.transformer import find_transformer

LLAMA = find_transformer("llama3-70b")  # 80 layers, 64 heads, 8 of keys and values, 28672 = 2^12 · 7
PLAIN = Configuration(tp=8, pp=4, dp=16, global_batch=128, sequence=8192)


def refusal(model: str, accelerators: int = 512, **changes: Any) -> str:
    shapes = find_transformer(model)
    with pytest.raises(InvalidInput) as caught:
        check_configuration(shapes, replace(PLAIN, sequence=shapes.sequence, **changes), accelerators)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_valid_configuration_passes() -> None:
    check_configuration(LLAMA, PLAIN, 512)
    check_configuration(LLAMA, replace(PLAIN, vpp=5, recompute="full", zero=3, sequence_parallel=True), 512)


def test_degrees_that_do_not_multiply_to_the_accelerators() -> None:
    assert refusal("llama3-70b", dp=8) == (
        "accelerators 512: tp 8 x cp 1 x dp 8 x pp 4 = 256 does not multiply to it; dp=16 would make it so"
    )
    assert "nearest: 480, 512 accelerators" in refusal("llama3-70b", 500)


def test_a_tensor_degree_that_does_not_divide_heads() -> None:
    assert refusal("llama3-70b", tp=6) == "tp 6: does not divide 64 heads; nearest: 4, 8"
    assert refusal("llama3-70b", tp=128).endswith("nearest: 64")


def test_heads_of_keys_and_values_are_repeated_where_there_are_fewer_than_ranks() -> None:
    check_configuration(LLAMA, replace(PLAIN, tp=16, dp=8), 512)
    qwen = find_transformer("qwen2.5-0.5b")  # 14 heads share 2
    with pytest.raises(InvalidInput, match="tp 7: neither divides 2 heads of keys and values"):
        check_configuration(qwen, Configuration(tp=7, pp=1, dp=1, global_batch=1, sequence=4096), 7)


def test_a_tensor_degree_that_does_not_divide_the_feed_forward_part() -> None:
    odd = replace(LLAMA, ffn=28676)  # 4 · 67 · 107
    with pytest.raises(InvalidInput, match=r"tp 8: does not divide the feed-forward size 28676; nearest: 4$"):
        check_configuration(odd, PLAIN, 512)


def test_stages_that_do_not_divide_layers() -> None:
    assert refusal("llama3-70b", pp=3) == "pp 3: does not divide 80 layers; nearest: 2, 4, or uneven_stages"
    assert refusal("llama3-70b", pp=81) == "pp 81: does not divide 80 layers; nearest: 80"
    check_configuration(LLAMA, replace(PLAIN, pp=3), 384, uneven_stages=True)


def test_published_uneven_stages_pass() -> None:
    for model, pp, vpp in (("llama3-405b", 16, 1), ("deepseek-v3", 16, 1), ("qwen3-235b-a22b", 8, 4)):
        shapes = find_transformer(model)
        one = Configuration(8 if shapes.kv_heads > 4 else 4, pp, 8, 1024, shapes.sequence, vpp=vpp)
        check_configuration(shapes, one, one.accelerators)


def test_interleaving() -> None:
    assert (
        refusal("llama3-70b", vpp=3) == "vpp 3: 4 stages of 3 chunks do not divide 80 layers; nearest: 2, 4"
    )
    assert refusal("llama3-70b", pp=1, vpp=2).startswith("vpp 2: interleaving needs stages")
    assert refusal("llama3-70b", vpp=2, global_batch=96) == (
        "vpp 2: interleaving needs micro-batches in multiples of 4 stages, got 6; nearest: global_batch 64, 128"
    )


def test_expert_degrees() -> None:
    assert refusal("mixtral-8x7b", ep=3) == "ep 3: does not divide 8 experts; nearest: 2, 4"
    assert refusal("mixtral-8x7b", 16, tp=4, pp=4, dp=1, ep=8) == (
        "ep 8: ep 8 x etp 1 = 8 does not divide tp x cp x dp = 4; nearest: 4"
    )
    assert refusal("mixtral-8x7b", etp=3).startswith("etp 3: does not divide the size 14336 of an expert")
    assert refusal("llama3-70b", ep=2) == "ep 2: llama3-70b has no experts; leave it at 1"
    check_configuration(LLAMA, replace(PLAIN, etp=8), 512)  # as tp: the classic layout


def test_sequences() -> None:
    assert refusal("llama3-70b", 384, tp=8, pp=4, dp=4, cp=3).startswith(
        "cp 3: does not divide each sequence of 8192 tokens; nearest: 2, 4"
    )
    assert refusal("gpt2", 12, tp=12, pp=1, dp=1, sequence_parallel=True).startswith(
        "tp 12: does not divide the sequence of a context-parallel rank of 1024 tokens; nearest: 8, 16"
    )
    assert refusal("llama3-70b", 64, tp=1, sequence_parallel=True).startswith("sequence_parallel")
    gpt2 = find_transformer("gpt2")
    with pytest.raises(InvalidInput, match="seq 2048: gpt2 has 1024 learned positions"):
        check_configuration(gpt2, Configuration(1, 1, 1, 1, sequence=2048), 1)


def test_a_batch_that_does_not_divide() -> None:
    assert refusal("llama3-70b", global_batch=100) == (
        "global_batch 100: not a multiple of dp 16 x micro-batch 1 = 16; nearest: 96, 112"
    )
    assert refusal("llama3-70b", global_batch=5).endswith("nearest: 16")


def test_a_number_format_that_does_not_exist() -> None:
    assert 'precision: unknown name "fp9"; did you mean fp8' in refusal("llama3-70b", precision="fp9")


@given(layers=st.integers(1, 200))
def test_any_number_that_divides_the_layers_is_a_number_of_chunks(layers: int) -> None:
    counts = chunk_counts(layers)
    assert set(divisors(layers)) <= set(counts)
    assert counts == tuple(sorted(set(counts)))
    assert counts[0] >= 1
    assert counts[-1] == layers + 2
    assert sum(map(len, chunk_layers(layers, counts[-1]))) == layers


def test_128_chunks_of_126_layers_are_those_of_llama_3() -> None:
    """Dubey et al. 2024, section 3.3.2: the first chunk has the embedding alone, the last one the output layer."""
    one = replace(PLAIN, tp=8, pp=16, vpp=8, dp=1, global_batch=16)
    check_configuration(find_transformer("llama3-405b"), one, one.accelerators)
    sizes = [len(chunk) for chunk in chunk_layers(126, 128)]
    assert (sizes[0], sizes[-1], set(sizes[1:-1])) == (0, 0, {1})
    assert "does not divide 126 layers" in refusal("llama3-405b", pp=128)


def test_precisions_that_make_no_sense_are_not_among_those_that_are_named() -> None:
    with pytest.raises(InvalidInput, match=r'gradients: unknown name "int8"; Known: bf16, fp32$'):
        replace(PLAIN, gradients="int8")
    assert "gradients fp8: sums" in refusal("llama3-70b", gradients="fp8")
    assert "activation_inputs fp32: " in refusal("llama3-70b", activation_inputs="fp32")


@given(tp=st.integers(1, 130))
def test_the_nearest_values_of_a_refused_degree_are_valid(tp: int) -> None:
    one = replace(PLAIN, tp=tp)
    try:
        check_configuration(LLAMA, one, one.accelerators)
    except InvalidInput as error:
        for value in re.findall(r"\d+", str(error).split("nearest:")[1]):
            better = replace(one, tp=int(value))
            check_configuration(LLAMA, better, better.accelerators)


def test_exchanges_of_heads_need_whole_heads() -> None:
    """Heads of keys are repeated where there are fewer than ranks."""
    check_configuration(LLAMA, replace(PLAIN, cp=8, dp=2, context="ulysses"), 512)
    assert refusal("llama3-70b", cp=16, dp=1, context="ulysses") == (
        "cp 16: context=ulysses gives every rank whole heads, and tp 8 x cp 16 = 128 does not divide 64 heads, of "
        "which 8 of keys; nearest: 8, or context=ring or all-gather"
    )
    check_configuration(LLAMA, replace(PLAIN, cp=16, dp=1, context="all-gather"), 512)


def test_documents_are_no_longer_than_sequences() -> None:
    assert refusal("llama3-70b", document=10_000) == (
        "document 10000: the average is longer than a sequence of 8192 tokens; at most 8192, or 0 for one document in "
        "a sequence"
    )
    assert refusal("llama3-70b", document_spread=1.0) == (
        "document_spread 1: is of documents that are packed; give document=2048, or what their average is, too"
    )
    check_configuration(LLAMA, replace(PLAIN, document=512, document_spread=1.0), 512)


def test_adapters_are_of_low_rank() -> None:
    assert refusal("llama3-70b", adapter_rank=10_000) == (
        "adapter_rank 10000: is above the hidden size 8192, so that adapters would be larger than what they adapt; at "
        "most 8192, or 0 to train everything"
    )
    assert (
        refusal("llama3-70b", adapters="qkv")
        == "adapters qkv: are of low rank; give adapter_rank, such as 16, too"
    )


def test_layers_are_cut_as_even_as_can_be_and_ends_may_count_as_layers() -> None:
    """Llama 3's 126 layers on 16 stages are 8 each, with the embedding and the output layer for one (section 3.3.2)."""
    sizes = [len(chunk) for chunk in chunk_layers(126, 16)]
    assert sizes == [7, *[8] * 14, 7]
    assert [len(chunk) for chunk in chunk_layers(126, 64)] == [1, *[2] * 62, 1]
    assert [len(chunk) for chunk in chunk_layers(126, 128)] == [0, *[1] * 126, 0]
    assert [len(chunk) for chunk in chunk_layers(80, 3)] == [27, 27, 26]
