"""The measured time of a row: from seconds, tokens, a rate or a share of the peak, by the definition that it names."""

import math

import pytest

from tests.measurements.tables import runs_of
from topoopt.measurements.training import Run, predict_runs
from topoopt.transformers import FRAMEWORKS, find_calibration, flops_per_iteration
from topoopt.workloads.transformer import forward_flops

ROW = {
    "model": "GPT-22B", "arch": "gpt", "layers": "48", "hidden": "6144", "heads": "64", "kv_heads": "64",
    "ffn": "24576", "vocab": "51200", "seq": "2048", "gpus": "8", "gpu": "A100-SXM4-80GB", "tp": "8", "mbs": "4",
    "gbs": "4", "recompute": "full", "precision": "fp16",
}  # fmt: skip
PEAK, CARDS = 312e12, 8


def only(**cells: str) -> Run:
    row = {**ROW, **cells}
    runs = runs_of([row])
    assert not runs.not_scored, runs.not_scored
    return runs.runs[0]


def reason(**cells: str) -> str:
    row = {**ROW, **cells}
    (refused,) = runs_of([row]).not_scored
    return refused.reason


def flops(definition: str) -> float:
    return flops_per_iteration(definition, only().model, 4, 2048)


@pytest.mark.parametrize(
    ("written", "definition"),
    [
        ("", "matmul"),
        ("model FLOPs, causal", "matmul-causal"),
        ("6N + 6lhs (causal)", "matmul-causal"),
        ("96Bslh²(1+s/6h+V/16lh)", "megatron-hardware"),
        ("72Bslh²", "megatron-model"),
        ("6ND", "6n"),
        ("PaLM", "palm"),
        ("megatron-model", "megatron-model"),
    ],
)
def test_a_rate_is_a_time_by_its_definition(written: str, definition: str) -> None:
    run = only(tflops_per_gpu="140", tflops_def=written)
    assert run.measured_s == pytest.approx(flops(definition) / 140e12 / CARDS)


def test_korthikanti_s_utilization_is_the_time_of_the_same_table() -> None:
    """Table 5, from memory: GPT-22B with selective recomputation takes 1.10 s on 8 A100, 41.5 % of the peak."""
    for written in ("41.5", "41.5 %", "0.415"):
        run = only(mfu_pct=written, tflops_def="72Bslh²", recompute="selective")
        assert run.measured_s == pytest.approx(1.10, rel=0.01)


def test_the_hardware_s_share_counts_what_is_computed_again() -> None:
    """Four passes instead of three through the layers, or the attention's core once more."""
    full, selective, none = (
        only(hfu_pct="40", recompute=how).measured_s for how in ("full", "selective", "none")
    )
    layers = forward_flops(only().model, 2048).layers
    per_token = 2048 * 4 / (0.4 * PEAK * CARDS)
    assert none == only(mfu_pct="40").measured_s
    assert full - none == pytest.approx(layers.total_flops * per_token)
    assert selective - none == pytest.approx(layers.core_flops * per_token)


def test_a_share_may_be_of_another_peak() -> None:
    h100 = {"gpu": "H100", "precision": "fp8", "mfu_pct": "40"}
    eight = only(**h100).measured_s
    assert only(**h100, mfu_precision="bf16").measured_s == pytest.approx(eight * 1979 / 989)
    assert only(**h100, mfu_precision="800").measured_s == pytest.approx(eight * 1979 / 800)
    assert "mfu_precision: the peak of A100-SXM4-80GB in fp8 is not known" in reason(
        mfu_pct="40", mfu_precision="fp8"
    )


def test_seconds_come_before_tokens_and_those_before_rates() -> None:
    both = {"iter_time_s": "1.5", "tokens_per_s_per_gpu": "512", "tflops_per_gpu": "100"}
    assert only(**both).measured_s == 1.5
    assert only(**{**both, "iter_time_s": ""}).measured_s == 2.0
    assert only(iter_time_s="1500 ms").measured_s == only(iter_time_s="1.5s").measured_s == 1.5
    assert math.isnan(only().measured_s)
    assert math.isnan(only(tflops_per_gpu="100", status="oom").measured_s)


def test_throughputs_of_all_accelerators_are_times_too() -> None:
    """4 sequences of 2,048 tokens in 2 s."""
    for cells in ({"tokens_per_s": "4096"}, {"sequences_per_s": "2"}, {"iter_time_ms": "2000"}):
        assert only(**cells).measured_s == 2.0


def test_a_measured_peak_of_memory_has_its_error() -> None:
    row = {**ROW, "mem_gb": "60", "dataset": "mine"}
    twin = {**ROW, "mem_gib": f"{60e9 / 2**30}"}
    answer = predict_runs(runs_of([{**row, "mem_gib": ""}, twin, ROW]))
    first, second, third = answer.predictions
    assert first.memory_error_percent == pytest.approx(100 * (first.peak_bytes / 60e9 - 1))
    assert second.memory_error_percent == pytest.approx(first.memory_error_percent)
    assert math.isnan(third.memory_error_percent)
    assert (answer.memory_errors["mine"].runs, answer.memory_errors["all"].runs) == (1, 2)
    assert "Errors of the peak memory" in str(answer)


def test_a_peak_of_memory_is_of_tensors_of_the_allocator_or_of_the_accelerator() -> None:
    rows = [
        {**ROW, "mem_gb": "60", "mem_def": word}
        for word in ("max_memory_allocated", "reserved", "nvidia-smi", "")
    ]
    tensors, held, shown, unsaid = predict_runs(runs_of(rows)).predictions
    assert tensors.peak_bytes < held.peak_bytes < shown.peak_bytes == unsaid.peak_bytes
    # One kind of groups, whose buffers the allocator knows nothing of.
    assert shown.peak_bytes - held.peak_bytes == pytest.approx(FRAMEWORKS["megatron"].group_bytes)


def test_a_peak_of_rank_0_is_that_of_the_first_stage() -> None:
    """The last stage has the logits of many words, and is the fullest."""
    row = {
        **ROW,
        "vocab": "512000",
        "pp": "4",
        "tp": "2",
        "gbs": "32",
        "mem_gb": "60",
        "mem_def": "allocated",
    }
    both = [row, {**row, "mem_def": "allocated on rank 0"}]
    fullest, first = predict_runs(runs_of(both)).predictions
    assert first.memory_bytes == fullest.memory_bytes
    assert first.peak_bytes < fullest.peak_bytes


def test_a_rate_of_an_unknown_definition_is_refused() -> None:
    assert "tflops_def: expected one of megatron-model, megatron-hardware" in reason(
        tflops_per_gpu="100", tflops_def="somebody's"
    )
    assert only(tflops_per_gpu="100", tflops_def="somebody's", iter_time_s="2").measured_s == 2


def test_times_from_rates_count_in_errors() -> None:
    row = {**ROW, "tflops_per_gpu": "140"}
    answer = predict_runs(runs_of([row]), find_calibration("a100-80gb"))
    assert answer.errors["all"].runs == 1
    assert answer.to_json()["times_from"] == {"tflops_per_gpu": 1}
