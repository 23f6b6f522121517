"""With frozen weights only adapters have gradients; ZeRO 3 still gathers everything."""

from collections import Counter
from dataclasses import replace

import pytest

from topoopt.transformers import Configuration, communications, rank_parameters, trained_parameters
from topoopt.workloads.transformer import adapter_parameters, find_transformer

MODEL = find_transformer("llama3-8b")  # 32 layers
ONE = Configuration(
    tp=2, pp=2, dp=4, global_batch=16, sequence=4096, adapter_rank=16, adapters="attention", zero=1
)
EACH = adapter_parameters(MODEL, False, "attention")


def data_parallel(one: Configuration, kind: str = "dp") -> Counter[tuple[str, str]]:
    """Return the bytes of rank 0's buffers, by part and collective."""
    found: Counter[tuple[str, str]] = Counter()
    for each in communications(MODEL, one):
        if each.kind == kind and each.chunk < 0 and (each.groups == 0).any():
            found[each.part, each.collective] += each.message_bytes * each.count
    return found


def test_replicas_reduce_the_gradients_of_adapters_only() -> None:
    size = 2 * 16 * 16 * (EACH.whole + EACH.split // 2)
    assert data_parallel(ONE) == {
        ("gradients", "reduce-scatter"): 2 * size,
        ("parameters", "all-gather"): size,
    }
    assert data_parallel(replace(ONE, zero=0)) == {("gradients", "allreduce"): 2 * size}


def test_zero_3_gathers_frozen_weights_and_scatters_gradients_of_adapters() -> None:
    one = replace(ONE, zero=3)
    added, frozen = (of(MODEL, one, 0).total * 2 for of in (trained_parameters, rank_parameters))
    assert added == 2 * 16 * 16 * (EACH.whole + EACH.split // 2)
    assert data_parallel(one) == {
        ("gradients", "reduce-scatter"): added * one.micro_batches,
        ("parameters", "all-gather"): (added + frozen) * 2 * one.micro_batches,
    }


def test_halves_that_every_tensor_parallel_rank_has_are_summed_up_once() -> None:
    whole = 4 * 16 * 16 * EACH.whole
    for parallel in (False, True):
        sums = data_parallel(replace(ONE, sequence_parallel=parallel), "tp")
        assert sums == {("gradients of norms and what else is whole", "allreduce"): whole}


def test_a_tied_embedding_that_is_frozen_is_not_summed() -> None:
    tied = replace(MODEL, tied=True)
    assert not [each for each in communications(tied, ONE) if each.kind == "embedding"]
    assert [each for each in communications(tied, replace(ONE, adapter_rank=0)) if each.kind == "embedding"]


@pytest.mark.parametrize("adapters", ["qkv", "attention", "all-linear"])
def test_experts_have_adapters_of_their_own(adapters: str) -> None:
    one = Configuration(1, 1, 8, 8, 4096, ep=4, adapter_rank=8, adapters=adapters)
    held = trained_parameters(find_transformer("mixtral-8x7b"), one, 0)
    expected = 8 * 2 * (2 * 4096 + 3 * 14336) if adapters == "all-linear" else 0
    assert set(held.experts) == {expected}
