"""What few runs vary: a column each, read into the configuration by the words of several frameworks."""

import pytest

from tests.measurements.tables import runs_of
from topoopt.measurements.training import Run, predict_runs
from topoopt.measurements.training.run import _READ
from topoopt.transformers.configuration_table import RARE_COLUMNS

ROW = {
    "model": "llama3-8b",
    "gpus": "64",
    "gpu": "H100",
    "gbs": "128",
    "tp": "2",
    "pp": "2",
    "dp": "8",
    "cp": "2",
}


DENSE = {
    "model": "llama3-70b", "gpus": "256", "gpu": "H100", "gbs": "256", "tp": "4", "pp": "4", "vpp": "5", "zero": "1",
    "precision": "fp8", "recompute": "full",
}  # fmt: skip
SHARDED = {"model": "llama3-8b", "gpus": "64", "gpu": "H100", "gbs": "128", "zero": "3"}
LONG = {"model": "llama3-8b", "gpus": "64", "gpu": "H100", "gbs": "16", "seq": "131072", "tp": "2", "cp": "4"}
MIXED = {
    "model": "deepseek-v3", "gpus": "512", "gpu": "H800", "gbs": "1024", "pp": "16", "ep": "32", "precision": "fp8",
}  # fmt: skip
MOVING: dict[str, tuple[dict[str, str], str]] = {
    "recompute_layers": (DENSE, "2"),
    "shard": (SHARDED, "8"),
    "context": (LONG, "ulysses"),
    "schedule": (MIXED, "dualpipe"),
    "overlap_experts": ({**MIXED, "vpp": "2"}, "yes"),
    "exchange": (MIXED, "flat"),
    "graphs": (MIXED, "yes"),
    "dispatch": (MIXED, "fp8"),
    "weights": (DENSE, "fp8"),
    "gradients": (DENSE, "bf16"),
    "moments": (DENSE, "bf16"),
    "activation_inputs": ({**DENSE, "recompute": "none"}, "fp8"),
    "offload_optimizer": (DENSE, "0.5"),
    "offload_activations": (DENSE, "0.5"),
    "adapter_rank": (DENSE, "16"),
    "adapters": ({**DENSE, "adapter_rank": "16"}, "attention"),
    "document": (LONG, "4096"),
    "document_spread": ({**LONG, "document": "4096"}, "1"),
}
"""Of each column a row and a word of it."""

EXPERTS = {"model": "qwen3-30b-a3b", "ep": "8", "vpp": "2"}
BESIDE: dict[str, dict[str, str]] = {
    "recompute_layers": {"recompute": "full"},
    "shard": {"zero": "1"},
    "overlap_experts": EXPERTS,
    "dispatch": EXPERTS,
    "weights": {"precision": "fp8"},
    "document_spread": {"document": "2k"},
}
"""What a row has to say beside some columns."""


def only(**cells: str) -> Run:
    row = {**ROW, **cells}
    runs = runs_of([row])
    assert not runs.not_scored, runs.not_scored
    return runs.runs[0]


@pytest.mark.parametrize(
    ("column", "written", "value"),
    [
        ("recompute_layers", "4", 4),
        ("shard", "8", 8),
        ("context", "a2a", "ulysses"),
        ("context", "all_gather", "all-gather"),
        ("context", "P2P", "ring"),
        ("schedule", "ZB-H1", "zero-bubble"),
        ("schedule", "interleaved 1F1B", "1f1b"),
        ("schedule", "DualPipeV", "dualpipe"),
        ("overlap_experts", "yes", True),
        ("dispatch", "FP8", "fp8"),
        ("weights", "mxfp8", "fp8"),
        ("gradients", "bfloat16", "bf16"),
        ("moments", "fp32", "fp32"),
        ("offload_optimizer", "50%", 0.5),
        ("offload_activations", "yes", 1.0),
        ("adapter_rank", "16", 16),
        ("document", "1k", 1024),
        ("document_spread", "0.5", 0.5),
    ],
)
def test_a_column_is_a_field(column: str, written: str, value: object) -> None:
    cells = {**BESIDE.get(column, {}), column: written}
    assert getattr(only(**cells).configuration, column) == value


def test_every_field_that_searches_do_not_vary_has_a_column() -> None:
    assert set(_READ) == set(RARE_COLUMNS)


@pytest.mark.parametrize("column", RARE_COLUMNS)
def test_what_a_row_says_moves_its_time_or_its_memory(column: str) -> None:
    plain, word = MOVING[column]
    rows = [plain, {**plain, column: word}]
    answer = predict_runs(runs_of(rows))
    assert not answer.not_scored
    before, after = ((one.iteration_time_s, one.memory_bytes) for one in answer.predictions)
    assert before != after


def test_hybrid_sharding_is_within_a_server_unless_a_number_says_more() -> None:
    cells = {"tp": "1", "pp": "1", "dp": "64", "cp": "1"}
    assert only(**cells, zero="hsdp").configuration.shard == 8
    assert only(**cells, zero="hsdp", shard="16").configuration.shard == 16
    assert only(**cells, zero="fsdp").configuration.shard == 0


@pytest.mark.parametrize(
    ("column", "written", "words"),
    [
        ("context", "spiral", 'context: expected one of ring, ulysses, all-gather, got "spiral"'),
        ("moments", "int4", "moments: expected one of fp32, bf16, fp8"),
        ("shard", "-1", "shard: expected a whole number >= 1, got -1"),
        ("offload_optimizer", "150%", "offload_optimizer: expected a share from 0 to 1, got 1.5"),
    ],
)
def test_what_a_column_cannot_have_is_a_reason(column: str, written: str, words: str) -> None:
    row = {**ROW, column: written}
    (refused,) = runs_of([row]).not_scored
    assert words in refused.reason
