"""The benchmark runner says honestly whether a limit is met."""

import pytest

from benchmarks.figure import Figure, best_cpu_seconds
from benchmarks.published import judge
from benchmarks.run import TABLE, main, row
from tests.measurements.tables import runs_of
from topoopt.measurements.training import predict_runs


def test_less_is_better_unless_said_otherwise() -> None:
    assert Figure("start", 0.3, "s", limit=0.4).is_met
    assert not Figure("start", 0.5, "s", limit=0.4).is_met
    assert not Figure("speed", 900, "1/s", limit=1000, more_is_better=True).is_met


def test_the_ratio_is_above_one_when_we_are_better() -> None:
    assert Figure("time", 2, "s", 5, original=10).times_better == 5
    assert Figure(
        "speed", 1100, "1/s", 1000, more_is_better=True, original=0.11
    ).times_better == pytest.approx(1e4)


def test_a_missed_limit_is_seen_in_the_row() -> None:
    assert " NO " in row(Figure("time", 6, "s", 5))
    assert " yes " in row(Figure("time", 4, "s", 5))


def test_idle_work_takes_no_time() -> None:
    assert 0 <= best_cpu_seconds(lambda: None) < 0.01


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serach"]) == 2
    assert f"known: {', '.join(TABLE)}" in capsys.readouterr().err


def test_published_runs_are_judged_by_data_set_and_those_in_sight_are_told_apart() -> None:
    row = {
        "model": "llama3-8b",
        "gpus": "8",
        "gpu": "H100",
        "gbs": "16",
        "zero": "3",
        "iter_time_s": "10",
        "mem_gb": "60",
    }
    rows = [
        {**row, "dataset": "seen", "in_sight": "1"},
        {**row, "dataset": "new", "in_sight": "0"},
        {**row, "dataset": "new", "status": "oom"},
    ]
    judged = judge(predict_runs(runs_of(rows)))
    assert list(judged) == ["new", "seen", "all held out", "all in sight"]
    assert [one.runs for one in judged.values()] == [1, 1, 1, 1]
    assert [one.in_sight for one in judged.values()] == [False, True, False, True]
    assert [one and one.runs for one in (judged["new"].time, judged["new"].memory)] == [1, 1]
