"""Utilization as publications count it."""

from dataclasses import replace

import pytest

from tests.llm.shapes import SMALL_EXPERTS, small_model
from topoopt.errors import InvalidInput
from topoopt.llm import FLOPS_DEFINITIONS, flops_per_iteration, mfu
from topoopt.transformer import find_transformer

MEGASCALE_175B = replace(find_transformer("gpt3-175b"), vocabulary=64_000)


@pytest.mark.parametrize(
    ("sequences", "accelerators", "time_s", "percent"), [(768, 256, 40.0, 53.0), (6144, 12_288, 8.57, 41.2)]
)
def test_megascales_rows_of_megatron_lm(
    sequences: int, accelerators: int, time_s: float, percent: float
) -> None:
    """MegaScale (NSDI 2024), strong scaling of the 175B model on A100."""
    flops = flops_per_iteration("megatron-model", MEGASCALE_175B, sequences, 2048)
    assert 100 * mfu(flops, time_s, accelerators, 312e12) == pytest.approx(percent, abs=0.15)


def test_full_recomputation_adds_a_third_but_for_the_logits() -> None:
    model, hardware = (
        flops_per_iteration(name, MEGASCALE_175B, 8, 2048) for name in ("megatron-model", "megatron-hardware")
    )
    logits = 6 * 8 * 2048 * MEGASCALE_175B.hidden * MEGASCALE_175B.vocabulary
    assert hardware - model == pytest.approx((model - logits) / 3)


def test_six_n_counts_what_a_token_meets() -> None:
    attention, norms, router, two_experts = 3 * 64 * 64, 2 * 64, 8 * 64, 2 * 3 * 64 * 32
    met = 2 * 1024 * 64 + 64 + 8 * (attention + norms + router + two_experts)
    assert flops_per_iteration("6n", small_model(SMALL_EXPERTS), 1, 1) == 6 * met


def test_an_unknown_definition_is_refused() -> None:
    with pytest.raises(InvalidInput, match="tflops_def: unknown name"):
        flops_per_iteration("6nd", MEGASCALE_175B, 1, 1)
    with pytest.raises(InvalidInput, match="mfu: time_s: must be positive"):
        mfu(1.0, 0.0, 1, 1.0)
    assert set(FLOPS_DEFINITIONS) >= {"megatron-model", "megatron-hardware", "6n"}
