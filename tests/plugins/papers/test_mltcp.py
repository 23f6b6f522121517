"""MLTCP's figures: jobs come apart in flows as the closed form says, and many gain what fair shares lose."""

import itertools

import pytest

from tests.plugins.papers.studies_run import compared, run
from topoopt.plugins.papers.mltcp import COUNTS, MANY_PART

pytestmark = pytest.mark.reproduction


def many(sharing: str) -> list[float]:
    return [
        row["mean_over_period"]
        for row in run("mltcp").rows
        if row["sharing"] == sharing and row["mean_over_period"]
    ]


def test_what_is_exact_is_met() -> None:
    assert sum(row.met is True for row in run("mltcp").comparisons) == 13


def test_the_odds_of_an_offset_grow_eightfold() -> None:
    offsets = [
        row["offset"]
        for row in run("mltcp").rows
        if (row["sharing"], row["communication_part"]) == ("mltcp", 0.4)
    ]
    odds = [offset / (1 - offset) for offset in offsets[:6]]
    assert [after / before for before, after in itertools.pairwise(odds)] == pytest.approx(
        [8.0] * 5, rel=1e-6
    )


def test_a_decreasing_form_locks_two_jobs_in_full_overlap() -> None:
    times = [row["iteration_over_period"] for row in run("mltcp").rows if row["sharing"] == "decreasing"]
    assert times[0] > 1.38
    assert times[-1] == pytest.approx(1.4, abs=1e-6)


def test_many_jobs_come_apart_and_fair_ones_do_not() -> None:
    assert all(mean < 1.01 for mean in many("mltcp"))
    for count, mean in zip(COUNTS, many("fair"), strict=True):
        # Never more than all communications one after the other.
        assert 1.1 < mean < 1 + (count - 1) * MANY_PART / count + 0.01


def test_fair_shares_cost_the_tail_more_than_the_mean() -> None:
    figure = run("mltcp")
    for count in (4, 8):
        tail = compared(figure, f"99th percentile of {count} jobs")
        assert tail > compared(figure, f"mean iteration time of {count} jobs") > 1.1
