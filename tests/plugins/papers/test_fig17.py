"""Figure 17 in small: slow circuits lose to a topology wired once, fast ones nearly catch up; forwarding helps."""

import pytest

from topoopt.plugins.papers.fig16_17 import Fig17Grid, fig17_on
from topoopt.plugins.papers.figure import Figure, StudySettings

SLOW_S, FAST_S = 10e-3, 10e-6
SMALL = Fig17Grid(16, ("dlrm", "bert"), (4, 8), (FAST_S, 1e-3, SLOW_S, 0.1), (FAST_S, SLOW_S))


@pytest.fixture(scope="module")
def small() -> Figure:
    return fig17_on(SMALL, StudySettings(quick=True), lambda *_: None)


def time_s(figure: Figure, model: str, degree: int, relayed: bool | None, delay_s: float | None) -> float:
    where = {"model": model, "degree": degree, "host_forwarding": relayed, "delay_s": delay_s}
    (row,) = (row for row in figure.rows if all(row[key] == value for key, value in where.items()))
    found: float = row["iteration_time_s"]
    return found


def test_every_point_of_the_grid_has_a_row(small: Figure) -> None:
    assert len(small.rows) == 2 * (1 + 2 + 4) + 2 * (1 + 4 + 4)
    assert len({tuple(row) for row in small.rows}) == 1
    assert all(row["iteration_time_s"] >= row["compute_time_s"] for row in small.rows)
    assert all(
        row["bandwidth_tax"] == pytest.approx(1) for row in small.rows if row["host_forwarding"] is False
    )


@pytest.mark.parametrize("degree", [4, 8])
@pytest.mark.parametrize("model", ["dlrm", "bert"])
def test_slow_circuits_lose_and_fast_ones_nearly_catch_up(small: Figure, model: str, degree: int) -> None:
    once_s = time_s(small, model, degree, None, None)
    fast_s, slow_s = (
        min(time_s(small, model, degree, relayed, at) for relayed in (True, False)) for at in (FAST_S, SLOW_S)
    )
    assert once_s <= fast_s < slow_s
    assert fast_s <= once_s / 0.8 * 1.02, "circuits carry 80 % of the time"


@pytest.mark.parametrize("degree", [4, 8])
def test_without_forwarding_time_grows_with_latency(small: Figure, degree: int) -> None:
    """Every pair of DLRM's exchange waits for a circuit of its own."""
    times_s = [time_s(small, "dlrm", degree, False, at) for at in SMALL.delays_s]
    assert times_s == sorted(times_s)
    assert times_s[-1] > 100 * times_s[0]
    assert time_s(small, "dlrm", degree, True, SLOW_S) < 0.2 * times_s[2], "forwarding helps"


def test_comparisons_are_ratios_of_the_rows(small: Figure) -> None:
    ours = {row.what: row.ours for row in small.comparisons}
    assert len(ours) == len(small.comparisons) == 4 * 4
    once_s, relayed_s, plain_s = (
        time_s(small, "dlrm", 4, *at) for at in ((None, None), (True, SLOW_S), (False, SLOW_S))
    )
    best = next(
        value for what, value in ours.items() if what.startswith("DLRM, d=4: TopoOpt over circuits at 10 ms")
    )
    assert best == pytest.approx(once_s / relayed_s)
    helped = next(value for what, value in ours.items() if what.startswith("DLRM, d=4: circuits at 10 ms"))
    assert helped == pytest.approx(relayed_s / plain_s)


def test_each_model_and_degree_has_its_chart(small: Figure) -> None:
    assert [chart.name for chart in small.charts] == [
        *(f"fig17-{model}-d{degree}" for model in SMALL.models for degree in SMALL.degrees),
        "fig17-published",
    ]
