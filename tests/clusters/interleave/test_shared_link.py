"""Links with jobs on them: when one can be short, and when what suits one suits another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import CommunicationProfile, Phase, SharedLink, highest_profile


def on_off(
    job: str, begin_s: float, duration_s: float, rate_bps: float = 50e9, period_s: float = 0.1
) -> CommunicationProfile:
    return CommunicationProfile(job, period_s, (Phase(begin_s, duration_s, rate_bps),))


@st.composite
def profiles(draw: st.DrawFn, job: str = "a") -> CommunicationProfile:
    """Phases between whole hundredths of an iteration, of which the last may wrap."""
    edges = sorted(draw(st.sets(st.integers(0, 99), max_size=8)))
    ends = [*edges[1:], *[edge + 100 for edge in edges[:1]]]
    rates = [draw(st.integers(0, 4)) * 10e9 for _ in edges]
    phases = [
        Phase(a / 1000, (b - a) / 1000, rate) for a, b, rate in zip(edges, ends, rates, strict=True) if rate
    ]
    return CommunicationProfile(job, 0.1, tuple(phases))


TIMES_S = (np.arange(100) + 0.5) / 1000


@given(st.lists(profiles(), min_size=1, max_size=4))
def test_the_highest_profile_is_the_highest_at_every_time(parts: list[CommunicationProfile]) -> None:
    highest = np.max([part.demand_bps(TIMES_S) for part in parts], axis=0)
    np.testing.assert_array_equal(highest_profile(parts).demand_bps(TIMES_S), highest)


@given(profiles(), profiles(), st.sampled_from([25e9, 50e9]))
def test_a_link_covers_another_where_its_job_never_takes_a_smaller_part_of_it(
    here: CommunicationProfile, there: CommunicationProfile, capacity_bps: float
) -> None:
    one, other = SharedLink("x", 50e9, (here,)), SharedLink("y", capacity_bps, (there,))
    parts = here.demand_bps(TIMES_S) / 50e9, there.demand_bps(TIMES_S) / capacity_bps
    assert one.covers(other) == bool((parts[0] >= parts[1]).all())
    assert one.same_demands(other) == bool((here.demand_bps(TIMES_S) == there.demand_bps(TIMES_S)).all())


def test_times_that_differ_by_rounding_are_the_same() -> None:
    one = SharedLink("x", 50e9, (on_off("a", 0.01, 0.03),))
    other = SharedLink("y", 50e9, (on_off("a", 0.01 + 1e-12, 0.03 - 1e-12, 50e9 * (1 + 1e-9)),))
    assert one.same_demands(other)
    assert not one.same_demands(SharedLink("y", 50e9, (on_off("a", 0.01, 0.031),)))


def test_other_jobs_or_other_iterations_are_not_covered() -> None:
    one = SharedLink("x", 50e9, (on_off("a", 0.0, 0.05),))
    assert not one.covers(SharedLink("y", 50e9, (on_off("b", 0.0, 0.01),)))
    assert not one.covers(SharedLink("y", 50e9, (on_off("a", 0.0, 0.01, period_s=0.2),)))


@pytest.mark.parametrize(("capacity_bps", "short"), [(99e9, True), (100e9, False)])
def test_a_link_is_short_where_the_highest_rates_are_above_its_capacity(
    capacity_bps: float, short: bool
) -> None:
    link = SharedLink("x", capacity_bps, (on_off("a", 0.0, 0.01), on_off("b", 0.05, 0.01)))
    assert link.can_be_short is short


@pytest.mark.parametrize(
    ("name", "capacity_bps", "jobs", "says"),
    [
        ("", 50e9, "a", "has no name"),
        ("x", 0.0, "a", "link x: capacity 0 b/s"),
        ("x", float("nan"), "a", "link x: capacity nan b/s"),
        ("x", 50e9, "aba", "link x: job a is there twice"),
    ],
)
def test_what_cannot_be_a_link_is_one_line(name: str, capacity_bps: float, jobs: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        SharedLink(name, capacity_bps, tuple(on_off(job, 0.0, 0.01) for job in jobs))
