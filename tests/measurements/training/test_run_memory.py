"""Which framework and attention a row of a table of runs means, and whether it fits."""

import pytest

from benchmarks.calibrations import as_typed
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


def test_adapters_in_8_bits_fit_with_what_enters_the_activation_in_8_bits() -> None:
    cells = {
        "model": "Llama-2-70B",
        "gpu": "B200-SXM",
        "seq": "8192",
        "mbs": "1",
        "gbs": "8",
        "framework": "nemo",
    }
    cells |= {"layers": "", "hidden": "", "heads": "", "vocab": "", "arch": "llama", "precision": "fp8"}
    cells |= {"adapter_rank": "16", "adapters": "attention"}
    assert fits(**cells)
    assert not fits(**cells, activation_inputs="bf16")
    assert not fits(**{**cells, "framework": "megatron"})


def test_a_tpu_is_programmed_with_maxtext() -> None:
    for gpu in ("TPUv5e", "tpu-v6e", "TPU v5p", "trillium"):
        assert run_framework({**ROW, "gpu": gpu}) == "maxtext"
    assert run_framework({**ROW, "gpu": "TPUv5e", "framework": "fsdp"}) == "fsdp"


@pytest.mark.parametrize(("chips", "does"), [(8, True), (4, False)])
def test_eight_chips_hold_llama_3_8b_where_four_run_out_of_memory(chips: int, does: bool) -> None:
    """AI-Hypercomputer/tpu-recipes, training/trillium/Llama3.1-8B-MaxText/v6e-8/README.md, "Common Errors"."""
    cells = {
        "model": "llama3-8b",
        "gpu": "TPUv6e",
        "seq": "8192",
        "mbs": "3",
        "zero": "3",
        "recompute": "full",
    }
    cells |= {"layers": "", "hidden": "", "heads": "", "vocab": "", "arch": "llama"}
    assert fits(**cells, gpus=str(chips), gbs=str(3 * chips)) == does


def test_published_runs_fit_and_those_out_of_memory_do_not() -> None:
    """All but bs_492, which ran out of memory while a run that needs more did not (see test_memory_measured)."""
    runs = published("train_runs.csv").runs
    wrong = [run.row.name for run in runs if run_memory(run).fits[0] == run.out_of_memory]
    assert (len(runs), sum(run.out_of_memory for run in runs), wrong) == (1405, 4, ["bs_492"])


@pytest.mark.parametrize(("typed", "refused"), [(False, []), (True, ["deepseek_v3"])])
def test_runs_that_no_calibration_has_seen_fit(typed: bool, refused: list[str]) -> None:
    """As typed, DeepSeek-V3's table of results does not say that moments and what enters SwiGLU are not in 16 bits."""
    runs = published("published_runs.csv")
    runs = as_typed(runs) if typed else runs
    assert len(runs.runs) == 169
    assert [run.row.name for run in runs.runs if not run_memory(run).fits[0]] == refused
