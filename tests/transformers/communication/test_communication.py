"""What ranks send each other: the published counts and sizes, and what each kind of parallelism must add up to."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transformers.shapes import PAPER_CONFIGURATION, PAPER_MODEL, SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    Communication,
    Configuration,
    communications,
    find_loads,
    rank_parameters,
    uniform_loads,
    zipf_loads,
)
from topoopt.workloads.transformer import Experts, TransformerModel

MIB = 2**20
PLAIN = Configuration(tp=2, pp=2, dp=2, global_batch=16, sequence=64, micro_batch=2)


def of_kind(
    model: TransformerModel, one: Configuration, kind: str, unfused: str = "none"
) -> list[Communication]:
    return [found for found in communications(model, one, unfused=unfused) if found.kind == kind]


def counts(
    model: TransformerModel, one: Configuration, kind: str, unfused: str = "none"
) -> Counter[tuple[str, int]]:
    """Return the messages of rank 0, by collective and bytes."""
    found: Counter[tuple[str, int]] = Counter()
    rank = 0
    for each in of_kind(model, one, kind, unfused):
        if (each.groups == rank).any():
            found[each.collective, each.message_bytes] += each.count
    return found


def wire_bytes(model: TransformerModel, one: Configuration, kind: str) -> float:
    return sum(each.wire_bytes for each in of_kind(model, one, kind))


def test_the_published_traffic_of_32_gpus_comes_out_exactly() -> None:
    """APNet'24: TP 680 × 125 MB, PP 16 × 125, DP 1 × 741, embedding 1 × 96 on a GPU of the first stage.

    Its stages send whole tensors, as its formula has it.
    """
    kinds = ("tp", "pp", "dp", "embedding")
    found = {kind: counts(PAPER_MODEL, PAPER_CONFIGURATION, kind, "sends") for kind in kinds}
    assert found["tp"] == {("allreduce", 125 * MIB): 680}
    assert found["pp"] == {("send", 125 * MIB): 16}
    [((collective, gradients), count)] = found["dp"].items()
    assert (collective, count, round(gradients / MIB, 2)) == ("allreduce", 1, 741.23)
    [((collective, embedding), count)] = found["embedding"].items()
    assert (collective, count, round(embedding / MIB, 2)) == ("allreduce", 1, 95.95)


def test_the_published_gradients_are_all_parameters_of_the_first_stage() -> None:
    """12·h² of each layer and the embedding alone are 736.8 MiB; biases, norms and positions make it 741.23."""
    h, layers, vocabulary, positions = 2000, 14, 50304, 1024
    matrices = 12 * h * h * layers // 2 + vocabulary * h // 2
    assert round(2 * matrices / MIB, 1) == 736.8
    split_biases, whole_biases, norms = 7 * h // 2, 2 * h, 4 * h
    exact = matrices + positions * h + layers * (split_biases + whole_biases + norms)
    assert exact == rank_parameters(PAPER_MODEL, PAPER_CONFIGURATION, 0).total


def test_sequence_parallelism_sends_the_same_but_for_the_inputs_gathered_again() -> None:
    model = small_model()
    apart = replace(PLAIN, sequence_parallel=True)
    again = sum(
        each.wire_bytes
        for each in of_kind(model, apart, "tp")
        if "again" in each.part or "whole" in each.part
    )
    logits = [each for each in of_kind(model, apart, "tp") if each.part == "logits"]
    extra_logits = min(each.wire_bytes for each in logits)
    together = wire_bytes(model, PLAIN, "tp")
    assert wire_bytes(model, apart, "tp") - again - extra_logits == together
    assert wire_bytes(model, apart, "pp") == wire_bytes(model, PLAIN, "pp")


@pytest.mark.parametrize(("recompute", "k"), [("none", 4), ("selective", 4), ("full", 6)])
def test_full_recomputation_repeats_the_forward_collectives(recompute: str, k: int) -> None:
    found = counts(small_model(), replace(PLAIN, recompute=recompute), "tp")
    assert found == {("allreduce", 2 * 2 * 64 * 64): 4 * (k * 4 + 1)}


def test_interleaving_sends_at_every_boundary_of_chunks_and_around() -> None:
    model, one = small_model(), replace(PLAIN, vpp=2)
    sends = of_kind(model, one, "pp")
    assert sum(each.count for each in sends) == 2 * 3 * one.micro_batches
    around = [each for each in sends if each.direction == "forward" and each.chunk == 1]
    assert [(each.stage, each.groups[0].tolist()) for each in around] == [(1, [4, 0])]
    assert wire_bytes(model, one, "pp") == 3 * wire_bytes(model, PLAIN, "pp")


def test_zero_shares_out_gradients_and_parameters() -> None:
    model, short = small_model(), replace(PLAIN, gradients="bf16")
    plain = wire_bytes(model, short, "dp")
    often = PLAIN.micro_batches
    assert wire_bytes(model, replace(short, zero=1), "dp") == plain
    assert wire_bytes(model, replace(short, zero=2), "dp") == plain * (often + 1) / 2
    assert wire_bytes(model, replace(short, zero=3), "dp") == plain * 3 * often / 2
    layers = counts(model, replace(short, zero=3), "dp")
    assert max(layers.values()) == 4 * 2 * often


def test_gradients_of_bf16_are_summed_in_32_bits_until_they_are_shared_out() -> None:
    """As Megatron-LM does it (``accumulate_allreduce_grads_in_fp32``); FSDP reduces in the precision of weights."""
    model = small_model()
    by_stage = [wire_bytes(model, replace(PLAIN, zero=zero), "dp") for zero in range(4)]
    short = [wire_bytes(model, replace(PLAIN, zero=zero, gradients="bf16"), "dp") for zero in range(4)]
    assert [whole / half for whole, half in zip(by_stage, short, strict=True)] == [2, 1.5, 1, 1]
    fp32 = [wire_bytes(model, replace(PLAIN, zero=zero, gradients="fp32"), "dp") for zero in (2, 3)]
    often = PLAIN.micro_batches
    assert fp32 == [short[2] * (2 * often + 1) / (often + 1), short[3] * 4 / 3]


def test_shards_gather_and_scatter_within_and_sum_up_once_among_each_other() -> None:
    """HSDP: with 8 replicas in shards of 4, AllReduces of a quarter of the gradients between 2."""
    model, one = small_model(), replace(PLAIN, dp=8, zero=3, shard=4, global_batch=64)
    found = [each for each in communications(model, one) if each.kind == "dp"]
    sizes = {each.collective: each.groups.shape[1] for each in found}
    assert sizes == {"all-gather": 4, "reduce-scatter": 4, "allreduce": 2}
    total = {
        kind: sum(one.message_bytes * one.count for one in found if one.collective == kind) for kind in sizes
    }
    assert total["reduce-scatter"] == total["allreduce"] * 4 * one.micro_batches
    for each in found:
        assert sorted(each.groups.ravel().tolist()) == sorted(set(each.groups.ravel().tolist()))
    whole = replace(one, shard=8)
    assert not [
        each for each in communications(model, whole) if each.kind == "dp" and each.collective == "allreduce"
    ]


def test_tied_embeddings_are_summed_over_the_ends_of_a_pipeline_only() -> None:
    tied = replace(small_model(), tied=True)
    assert counts(tied, PLAIN, "embedding") == {("allreduce", 4 * 1024 * 64 // 2): 1}
    assert not of_kind(tied, replace(PLAIN, pp=1), "embedding")
    assert not of_kind(small_model(), PLAIN, "embedding")


def test_context_parallelism_passes_keys_and_values_around_a_ring() -> None:
    one = Configuration(tp=2, pp=1, dp=1, cp=4, global_batch=4, sequence=64)
    of_rank = 2 * (64 // 4) * 2 * (4 // 2) * 8
    assert counts(small_model(), one, "cp") == {("ring-exchange", of_rank): 4 * 8 * 3 * 3}
    fewer = counts(small_model(kv_heads=2), one, "cp")
    assert fewer == {("ring-exchange", of_rank // 2): 4 * 8 * 3 * 3}
    again = counts(small_model(), replace(one, recompute="selective"), "cp")
    assert again == {("ring-exchange", of_rank): 4 * 8 * 3 * 4}


@given(
    ep=st.sampled_from([2, 4, 8]),
    tp=st.sampled_from([1, 2]),
    recompute=st.sampled_from(["none", "full"]),
    exponent=st.sampled_from([0.0, 1.2]),
)
@settings(max_examples=20)
def test_every_token_goes_to_its_experts_and_back(ep: int, tp: int, recompute: str, exponent: float) -> None:
    """k·h·bytes per token and layer each way; with even loads (ep-1)/ep of it leaves the rank."""
    model = small_model(SMALL_EXPERTS)
    one = Configuration(
        tp=tp, pp=2, dp=8 // tp, ep=ep, global_batch=32, sequence=64, recompute=recompute, exchange="flat"
    )
    loads = zipf_loads(model, exponent)
    exchanges = [each for each in communications(model, one, loads) if each.kind == "ep"]
    all_bytes = sum(
        each.message_bytes * each.weights.sum() * each.count * len(each.groups) for each in exchanges
    )
    ways = 6 if recompute == "full" else 4
    assert all_bytes == pytest.approx(32 * 64 * 2 * 64 * 2 * 8 * ways)
    if exponent == 0.0:
        assert sum(each.wire_bytes for each in exchanges) == pytest.approx(all_bytes * (ep - 1) / ep)


def test_uneven_loads_keep_each_layer_apart_and_even_ones_do_not() -> None:
    model = small_model(SMALL_EXPERTS)
    one = Configuration(tp=1, pp=2, dp=4, ep=4, global_batch=8, sequence=64)
    even = [each for each in communications(model, one, uniform_loads(model)) if each.kind == "ep"]
    uneven = [each for each in communications(model, one, find_loads("zipf", model)) if each.kind == "ep"]
    assert len(even) == 2 * 2 * 2
    assert len(uneven) == 2 * 2 * 8
    there, back = uneven[0].weights, uneven[2].weights
    assert (uneven[0].part, uneven[2].part) == ("dispatch", "combine")
    np.testing.assert_array_equal(there, back.T)


def test_experts_that_are_cut_need_the_tokens_of_all_their_parts() -> None:
    model = small_model(SMALL_EXPERTS)
    one = Configuration(tp=2, pp=1, dp=4, ep=4, etp=2, global_batch=4, sequence=64, sequence_parallel=True)
    gathered = [each for each in of_kind(model, one, "tp") if each.part == "experts"]
    # Both ranks of a pair gather what both were sent: two slices of 32 tokens, to 2 experts each.
    assert {each.message_bytes for each in gathered} == {2 * 32 * 2 * 64 * 2}
    uneven = [each for each in communications(model, one, zipf_loads(model)) if each.part == "experts"]
    assert sum(each.wire_bytes for each in uneven) == pytest.approx(
        sum(each.wire_bytes for each in gathered), rel=1e-4
    )


def test_experts_have_replicas_of_their_own() -> None:
    model = small_model(SMALL_EXPERTS)
    one = Configuration(tp=1, pp=1, dp=8, ep=4, global_batch=8, sequence=64)
    sizes = {each.part: each.groups.shape for each in of_kind(model, one, "dp")}
    assert sizes == {"gradients": (1, 8), "gradients of experts": (4, 2)}
    held = rank_parameters(model, one, 0)
    assert sum(held.experts) == 8 * 2 * 3 * 64 * 32


def test_shared_experts_are_split_like_a_dense_part() -> None:
    routed = small_model(SMALL_EXPERTS)
    with_shared = small_model(replace(SMALL_EXPERTS, shared_ffn=64))
    one = Configuration(tp=2, pp=1, dp=4, ep=4, global_batch=4, sequence=64, sequence_parallel=True)
    parts = [{each.part for each in of_kind(model, one, "tp")} for model in (routed, with_shared)]
    assert parts[1] - parts[0] == {"feed-forward", "feed-forward, input again"}


def test_capacity_drops_what_busy_experts_cannot_take() -> None:
    one = Configuration(tp=1, pp=1, dp=4, ep=4, global_batch=4, sequence=64)
    tight = small_model(Experts(count=8, per_token=2, ffn=32, capacity_factor=1.0))
    sent = sum(each.wire_bytes for each in communications(tight, one, zipf_loads(tight)) if each.kind == "ep")
    assert sent < wire_bytes(tight, one, "ep")


def test_heads_of_keys_and_values_are_repeated_where_they_are_few() -> None:
    model = small_model(kv_heads=2)
    one = Configuration(tp=8, pp=1, dp=1, global_batch=1, sequence=64)
    layer = rank_parameters(model, one, 0).dense[0]
    assert layer == 64 * 8 + 2 * 64 * 8 + 8 * 64 + 3 * 64 * 128 // 8 + 2 * 64


def test_loads_must_be_those_of_the_model() -> None:
    other = small_model(replace(SMALL_EXPERTS, count=4))
    with pytest.raises(InvalidInput, match="8 experts in each of 8 layers, got 4 in 8"):
        communications(small_model(SMALL_EXPERTS), PLAIN, uniform_loads(other))
    with pytest.raises(InvalidInput, match="toy has no experts"):
        communications(small_model(), PLAIN, uniform_loads(other))
