"""Utilization as publications count it."""

from dataclasses import replace

import pytest

from tests.transformers.shapes import SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.transformers import FLOPS_DEFINITIONS, flops_per_iteration, mfu
from topoopt.workloads.transformer import TransformerModel, find_transformer

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


@pytest.mark.parametrize(
    ("model", "sequence", "tflops", "tokens_per_s"),
    [
        ("llama3-405b", 8192, 822, 326),
        ("llama3-70b", 8192, 719, 1602),
        ("llama3-8b", 8192, 744, 14_451),
        ("qwen3-235b-a22b", 4096, 1306, 8816),
        ("qwen3-30b-a3b", 4096, 1029, 44_544),
    ],
)
def test_megatron_bridge_counts_causal_matrix_products(
    model: str, sequence: int, tflops: float, tokens_per_s: float
) -> None:
    """github.com/NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary: model TFLOP/s/GPU and tokens/s/GPU."""
    per_token = flops_per_iteration("matmul-causal", find_transformer(model), 1, sequence) / sequence
    assert per_token * tokens_per_s / 1e12 == pytest.approx(tflops, rel=3e-3)


def test_the_chronicles_of_bloom_count_what_the_hardware_does() -> None:
    """chronicles-prequel of tr11-176B: 70 layers of 14,336, 2048 sequences, 384 GPUs, 102.03 s, 153.68 TFLOP/s."""
    model = replace(MEGASCALE_175B, layers=70, hidden=14_336, vocabulary=250_880)
    flops = flops_per_iteration("megatron-hardware", model, 2048, 2048)
    assert flops / 102.03 / 384 / 1e12 == pytest.approx(153.68, rel=3e-4)


def test_mosaicml_counts_as_palm_does() -> None:
    """llm-foundry, scripts/train/benchmarking: MPT-70b on 512 H100, 4096 sequences in 16.2685 s, MFU 41.25 %."""
    model = TransformerModel(
        "mpt-70b",
        "mpt",
        layers=80,
        hidden=8192,
        heads=64,
        ffn=32_768,
        vocabulary=50_368,
        sequence=2048,
        kv_heads=64,
        head_dim=128,
        tied=True,
    )
    flops = flops_per_iteration("palm", model, 4096, 2048)
    assert 100 * mfu(flops, 16.2685, 512, 989.5e12) == pytest.approx(41.25, rel=2e-3)


def test_matrix_products_of_a_gpt_are_megatrons_formula() -> None:
    ours, theirs = (
        flops_per_iteration(name, MEGASCALE_175B, 8, 2048) for name in ("matmul", "megatron-model")
    )
    assert ours == pytest.approx(theirs)


def test_an_unknown_definition_is_refused() -> None:
    with pytest.raises(InvalidInput, match="tflops_def: unknown name"):
        flops_per_iteration("6nd", MEGASCALE_175B, 1, 1)
    with pytest.raises(InvalidInput, match="mfu: time_s: must be positive"):
        mfu(1.0, 0.0, 1, 1.0)
    assert set(FLOPS_DEFINITIONS) >= {"megatron-model", "megatron-hardware", "6n"}
