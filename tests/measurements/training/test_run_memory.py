"""Which framework and attention a row of a table of runs means, and whether it fits."""

import pytest

from tests.measurements.tables import runs_of
from tests.measurements.training.published import published
from topoopt.measurements.training import run_attention, run_framework, run_memory

ROW = {
    "id": "one",
    "dataset": "runs",
    "model": "GPT-7B",
    "arch": "gpt",
    "layers": "32",
    "hidden": "4096",
    "heads": "32",
    "seq": "2048",
    "vocab": "51200",
    "gpus": "8",
    "gpu": "A100-SXM4-80GB",
    "tp": "1",
    "pp": "1",
    "mbs": "4",
    "gbs": "64",
    "zero": "1",
    "recompute": "none",
    "precision": "bf16",
    "status": "oom",
}


def fits(**cells: str) -> bool:
    row = {**ROW, **cells}
    (run,) = runs_of([row]).runs
    return bool(run_memory(run).fits[0])


@pytest.mark.parametrize(
    ("cells", "framework", "attention"),
    [
        ({}, "megatron", "fused"),
        ({"note": "Megatron-DeepSpeed; 1f1b"}, "deepspeed", "eager"),
        ({"note": "Megatron-DeepSpeed with FlashAttention"}, "deepspeed", "fused"),
        ({"source": "github.com/bigscience-workshop/bigscience"}, "deepspeed", "eager"),
        ({"zero": "fsdp3"}, "fsdp", "fused"),
        ({"note": "AA-Scaling, torch attention"}, "scaling", "eager"),
        ({"note": "AA-Scaling, kernel=fused"}, "scaling", "eager"),
        ({"note": "Aleph Alpha, kernel=flash_attention2 + RMS kernel"}, "scaling-norm-kernel", "fused"),
        ({"framework": "FSDP", "attention": "flash"}, "fsdp", "fused"),
        ({"kernel": "flash_attn2"}, "megatron", "fused"),
        ({"kernel": "torch"}, "megatron", "eager"),
        ({"flash_attention": "0"}, "megatron", "eager"),
        ({"note": "kernel: megatron, 64 GPUs"}, "megatron", "eager"),
        ({"note": "Megatron-DeepSpeed", "framework": "megatron", "attention": "eager"}, "megatron", "eager"),
    ],
)
def test_framework_and_attention_are_read_from_their_columns_or_from_the_note(
    cells: dict[str, str], framework: str, attention: str
) -> None:
    row = {**ROW, **cells}
    assert (run_framework(row), run_attention(row)) == (framework, attention)


@pytest.mark.parametrize("column", ["framework", "attention"])
def test_an_unknown_word_in_a_column_is_named(column: str) -> None:
    row = {**ROW, column: "magic"}
    (refused,) = runs_of([row]).not_scored
    assert f'{column}: unknown name "magic"' in refused.reason


def test_a_run_fits_by_what_it_computes_again() -> None:
    assert not fits(recompute="none")
    assert fits(recompute="full")
    assert fits(recompute="")


def test_scores_in_memory_make_the_difference() -> None:
    assert fits(tp="4", mbs="2", attention="fused")
    assert not fits(tp="4", mbs="8", attention="eager")
    assert fits(tp="4", mbs="8", attention="fused", recompute="full")


TAKEN_AS_FULL = (
    "trillium_dense",
    "trillium_moe",
    "ironwood_dense",
    "v5p_moe",
    "v5p_dense",
    "v5e_slices",
    "v5p_slices",
)
"""Data sets of TPUs, whose compiler keeps what it has room for."""
WITHOUT_RECOMPUTATION = (
    *("ml51_llama2_70b_lora_hpg.dgxb200x8.n1", "ml51_llama2_70b_lora_hpg.dgxb200x8.n2"),
    *("a3_llama2_7b_1", "a3_llama2_7b_4", "amd8n_8x22b"),
)
"""Rows that leave recomputation open, which is taken for none."""


def test_published_runs_fit_and_those_out_of_memory_do_not() -> None:
    """All but bs_492, which ran out of memory while a run that needs more did not (see test_memory_measured)."""
    runs = published("train_runs.csv")
    large = [run for run in runs.runs if run.row.dataset not in {"vtrain_single", *TAKEN_AS_FULL}]
    wrong = [run.row.name for run in large if run_memory(run).fits[0] == run.out_of_memory]
    assert len(large) > 350
    assert wrong == ["bs_492", *WITHOUT_RECOMPUTATION]


def test_runs_whose_recomputation_a_table_leaves_open_are_mostly_refused() -> None:
    """Known to be wrong: TPUs of which a table says custom recomputation with offload, taken as full."""
    runs = [run for run in published("train_runs.csv").runs if run.row.dataset in TAKEN_AS_FULL]
    refused = [run.row.name for run in runs if not run_memory(run).fits[0]]
    assert (len(runs), len(refused)) == (30, 17)
