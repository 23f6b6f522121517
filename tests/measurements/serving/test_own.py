"""One's own calibration: it finds a stack that is slower, keeps out of others, and comes back from its file."""

import csv
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.serving import (
    fit_serving,
    predict_served_runs,
    read_serving_calibration,
    write_serving_calibration,
)

COLUMNS = [
    *("id", "mode", "model", "accelerator", "n_acc", "tp", "engine"),
    *("weight_dtype", "isl", "osl", "concurrency", "tpot_ms", "ttft_ms"),
]


def slower_stack(path: Path, factor: float) -> str:
    """Write a table whose times are the shipped ones times a factor."""
    rows: list[list[object]] = [
        [f"r{clients}", "agg", "llama3-70b", "h100", 4, 4, "vllm", "fp8", 1000, 500, clients, 1, 1]
        for clients in (1, 4, 16, 64, 128)
    ]
    _write(path, rows)
    for row, one in zip(rows, predict_served_runs(str(path)).predictions, strict=True):
        row[-2:] = [1e3 * factor * one.values["tpot"], 1e3 * factor * one.values["ttft"]]
    _write(path, rows)
    return str(path)


def _write(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])


def test_a_stack_that_is_slower_is_met_after_the_fit(tmp_path: Path) -> None:
    table = slower_stack(tmp_path / "mine.csv", 1.3)
    fit = fit_serving(table)
    assert fit.errors["before"]["tpot"].mape_percent == pytest.approx(100 * (1 - 1 / 1.3), rel=1e-3)
    assert fit.errors["in_sample"]["tpot"].mape_percent < 4
    assert fit.errors["cross_validated"]["tpot"].mape_percent < 8
    assert not fit.errors["leave_one_stack_out"]  # there is one stack only
    write_serving_calibration(str(tmp_path / "mine.json"), fit.calibration)
    own = read_serving_calibration(str(tmp_path / "mine.json"))
    assert predict_served_runs(table, own).error("tpot").mape_percent == pytest.approx(
        fit.errors["in_sample"]["tpot"].mape_percent, abs=0.1
    )


def test_other_engines_keep_their_constants(tmp_path: Path) -> None:
    mine = fit_serving(slower_stack(tmp_path / "mine.csv", 1.3)).calibration
    other = tmp_path / "other.csv"
    other.write_text((tmp_path / "mine.csv").read_text().replace("vllm", "sglang"))
    plain, with_mine = predict_served_runs(str(other)), predict_served_runs(str(other), mine)
    assert plain.error("tpot") == with_mine.error("tpot")


def test_a_file_with_an_unknown_constant_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"engines": ["vllm"], "accelerators": [], "factors": {"dense_memry": 1.1}}')
    with pytest.raises(InvalidInput, match=r"factors.dense_memry: no such constant"):
        read_serving_calibration(str(path))


def test_a_table_without_measured_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("mode,model,accelerator,tp,isl,osl,concurrency\nagg,llama3-8b,h100,1,1000,200,16\n")
    with pytest.raises(InvalidInput, match="needs 2 measured numbers"):
        fit_serving(str(path))
