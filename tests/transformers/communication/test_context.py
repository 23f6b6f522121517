"""What context parallel ranks send: a ring, exchanges of heads, all-gathers, by hand from the shapes."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.transformers.shapes import small_model
from topoopt.transformers import Configuration, communications
from topoopt.workloads.transformer import TransformerModel, find_transformer

ONE = Configuration(tp=2, pp=1, dp=1, cp=4, global_batch=4, sequence=64)
"""The small model has 8 layers, hidden 64 and 8 heads of 8; a rank has 16 of the 64 tokens and 4 of the heads."""


def messages(model: TransformerModel, one: Configuration) -> Counter[tuple[str, str, int]]:
    """Return how often rank 0 does what of context parallelism in a micro-batch, over all layers."""
    found: Counter[tuple[str, str, int]] = Counter()
    for each in communications(model, one):
        if each.kind == "cp" and (each.groups == 0).any():
            found[each.part, each.collective, each.message_bytes] += each.count // one.micro_batches
    return found


def test_tokens_of_all_heads_are_exchanged_for_all_tokens_of_some() -> None:
    """DeepSpeed-Ulysses: 4·tokens·hidden each way over tp·cp ranks, as many heads of keys as of queries."""
    found = messages(small_model(), replace(ONE, context="ulysses"))
    size = 2 * 16 * 4 * 8
    parts = ("queries", "keys", "values", "output of the core")
    assert found == {(part, "all-to-all", size): 8 * 2 for part in parts}


def test_few_heads_of_keys_are_exchanged_as_few_or_repeated_up_to_one_for_each_rank() -> None:
    eight = replace(ONE, tp=1, context="ulysses")
    grouped = messages(small_model(kv_heads=4), eight)
    assert grouped["keys", "all-to-all", 2 * 16 * 4 * 8] == 16
    repeated = messages(small_model(kv_heads=2), eight)
    assert repeated["values", "all-to-all", 2 * 16 * 4 * 8] == 16


def test_keys_are_gathered_in_both_passes_and_their_gradients_scattered() -> None:
    found = messages(small_model(kv_heads=2), replace(ONE, context="all-gather"))
    size = 2 * 64 * 2 * 1 * 8
    assert found == {
        ("keys and values", "all-gather", size): 8 * 2,
        ("gradients of keys and values", "reduce-scatter", size): 8,
    }


@pytest.mark.parametrize(("recompute", "forward"), [("none", 0), ("selective", 1), ("full", 1), ("norms", 0)])
@pytest.mark.parametrize("context", ["ulysses", "all-gather", "ring"])
def test_computing_attention_again_repeats_the_forward_pass(
    context: str, recompute: str, forward: int
) -> None:
    def sent(how: str) -> float:
        one = replace(ONE, context=context, recompute=how)
        return sum(each.wire_bytes for each in communications(small_model(), one) if each.kind == "cp")

    passes = {"ulysses": 2, "all-gather": 3, "ring": 3 * 4 / 3 * 3 / 4}[context]
    assert sent(recompute) == pytest.approx(sent("none") * (1 + forward / passes))


def test_latent_attention_exchanges_the_heads_that_it_expands() -> None:
    model = find_transformer("deepseek-v3")
    one = Configuration(tp=1, pp=1, dp=1, cp=8, ep=8, global_batch=1, sequence=4096, context="ulysses")
    widths = {part: size / (2 * 512) for part, _, size in messages(model, one)}
    assert widths == {
        "queries": 128 * 192,
        "keys": 128 * 192,
        "values": 128 * 128,
        "output of the core": 128 * 128,
    }
