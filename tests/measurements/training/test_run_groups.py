"""Pairs of runs of one job, and the changes between them."""

from pathlib import Path

import pytest

from topoopt.measurements.training import Runs, predict_runs, read_runs
from topoopt.measurements.training.run_groups import families, pair_errors, pair_kind

HEAD = "id,dataset,model,gpus,gpu,gpus_per_node,nic_gbps_per_gpu,dp,mbs,gbs,seq,zero,precision,iter_time_s,pair\n"


def runs_of(tmp_path: Path, *rows: str) -> Runs:
    file = tmp_path / "runs.csv"
    file.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    runs = read_runs(file)
    assert not runs.not_scored
    return runs


def row(name: str, gpus: int, seconds: float, network: int = 400, pair: str = "") -> str:
    return f"{name},d,llama3-8b,{gpus},H100,8,{network},{gpus},1,{4 * gpus},4096,3,bf16,{seconds},{pair}"


def test_runs_that_differ_in_replicas_alone_are_one_family(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, row("a", 8, 1.0), row("b", 16, 1.1), row("c", 16, 1.2, 200))
    assert families(runs.runs).tolist() == [0, 0, 1]


def test_a_label_joins_what_differs_otherwise(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, row("a", 16, 1.0, 400, "x"), row("b", 16, 1.3, 100, "x"))
    assert families(runs.runs).tolist() == [0, 0]
    assert pair_kind(*runs.runs) == "network"


def test_changes_are_of_the_time_per_token_and_small_ones_do_not_count(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, row("a", 8, 1.0), row("b", 16, 1.2), row("c", 32, 1.01)).runs
    errors = pair_errors(runs, [2.0, 2.2, 2.0])
    assert errors["all"] == errors["scale"]
    assert (errors["all"].pairs, errors["all"].right_sign, errors["all"].within_two) == (1, 1, 1)
    assert errors["all"].measured_percent == pytest.approx(20)
    assert errors["all"].predicted_percent == pytest.approx(10)


def test_a_wrong_direction_is_neither_right_nor_within_a_factor_of_two(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, row("a", 8, 1.0), row("b", 16, 1.2)).runs
    assert pair_errors(runs, [1.0, 0.9])["all"].right_sign == 0


def test_no_pairs_no_errors(tmp_path: Path) -> None:
    assert predict_runs(runs_of(tmp_path, row("a", 8, 1.0))).pair_errors == {}


def test_the_pairs_that_calibrations_are_fitted_to() -> None:
    """In sight: that law and constants still belong together. docs/training-accuracy.md has them by kind."""
    errors = predict_runs(read_runs("benchmarks/data/train_runs.csv")).pair_errors
    assert errors["all"].right_sign >= 0.95 * errors["all"].pairs
    assert errors["all"].within_two >= 0.7 * errors["all"].pairs
    shards = errors["scale, hybrid shards"]
    assert shards.predicted_percent == pytest.approx(shards.measured_percent, rel=0.3)
