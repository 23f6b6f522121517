"""Runs of adapters: the rank that a row says, or that of its source; they judge, and nothing is fitted to them."""

from pathlib import Path

import pytest

from tests.measurements.training.published import published
from topoopt.measurements.training import predict_runs, read_runs
from topoopt.measurements.training.fit import runs_to_fit
from topoopt.measurements.training.run import adapter_fields

HEADER = "model,gpus,gpu,gbs,tp,pp,iter_time_s,note,adapter_rank,adapters\n"


def rows(path: Path, *lines: str) -> list[tuple[int, str]]:
    (path / "runs.csv").write_text(
        HEADER + "".join(f"llama3-8b,8,h100,32,2,1,1.0,{line}\n" for line in lines)
    )
    found = read_runs(path / "runs.csv")
    assert not found.not_scored
    return [(run.configuration.adapter_rank, run.configuration.adapters) for run in found.runs]


def test_a_row_says_its_rank_or_has_that_of_its_source(tmp_path: Path) -> None:
    assert rows(
        tmp_path,
        "LoRA,64,all",
        "LoRA,64,linear_qkv",
        "LoRA with NeMo,,",
        "QLoRA by hand,,",
        "LoRA,0,",
        "exploration,,",
    ) == [
        (64, "all-linear"),
        (64, "qkv"),
        (16, "qkv"),
        (8, "attention"),
        (0, "every-matrix"),
        (0, "every-matrix"),
    ]


def test_published_runs_of_adapters_are_met_that_nothing_was_fitted_to() -> None:
    """Llama-3-70B, rank 16, on 8 GB200 or GB300 (Megatron Bridge, 26.06): 2.20, 2.64 and 2.75 s."""
    runs = published("train_runs.csv")
    found = [
        one
        for one in predict_runs(runs).predictions
        if one.run.configuration.adapter_rank
        and one.run.measured_s > 0
        and one.run.row.dataset == "megatron_bridge"
    ]
    assert [one.run.measured_s for one in found] == [2.2001, 2.64, 2.7499]
    assert all(one.run.configuration.adapters == "qkv" for one in found)
    assert sum(abs(one.error_percent) for one in found) / 3 < 8


def test_no_calibration_is_fitted_to_them() -> None:
    _, fitted = runs_to_fit(published("train_runs.csv"), ("gb200",), "train_runs.csv")
    assert fitted
    assert not [run for run in fitted if run.configuration.adapter_rank]


@pytest.mark.parametrize(
    ("cells", "rank"),
    [
        ({"lora": "16"}, 16),
        ({"lora": "yes", "adapter_rank": "4"}, 4),
        ({"lora": "no", "adapter_rank": "4"}, 0),
        ({"lora": "0", "note": "LoRA"}, 0),
        ({"lora": "yes"}, 8),
    ],
)
def test_a_column_of_its_own_says_whether_there_are_adapters_or_their_rank(
    cells: dict[str, str], rank: int
) -> None:
    assert adapter_fields(cells).get("adapter_rank", int(cells.get("adapter_rank", "0"))) == rank
