"""Iterations of jobs beside each other, until something happens."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.clusters.scheduled.hand_made import LINK_BPS, ring_job
from topoopt.clusters.interleave import fair_sharing
from topoopt.clusters.scheduling.iterations import (
    MOST_SIMULATED,
    Iterating,
    StretchRules,
    Timetable,
    timetables,
    undisturbed,
)
from topoopt.clusters.scheduling.model_workers import PlacedWorkers
from topoopt.clusters.scheduling.network import cassini_24

FAIR = StretchRules(fair_sharing(), 0.0, 0)


def on_links(name: str, links: Sequence[int], duty: float = 0.5, share: float = 1.0) -> PlacedWorkers:
    profile = ring_job(name, 2, duty=duty).profile
    return PlacedWorkers(name, (0, 1), profile, np.array(links), np.full(len(links), share))


CAPACITIES_BPS = np.full(4, LINK_BPS)


def test_jobs_that_meet_nowhere_take_as_long_as_alone() -> None:
    jobs = [Iterating(on_links("a", [0, 1]), 10.0, 50), Iterating(on_links("b", [2, 3]), 10.1, 50)]
    a, b = timetables(jobs, CAPACITIES_BPS, 10.0, 100.0, FAIR)
    assert a.bound_s(50) == pytest.approx(20.0)
    assert b.bound_s(50) == pytest.approx(20.1)
    assert a.ecn_marks(50) == b.ecn_marks(50) == 0


def test_jobs_that_begin_together_share_and_take_half_as_long_again() -> None:
    """Alone 100 ms of computing and 100 ms of sending at full rate; two at once send for 200 ms."""
    jobs = [Iterating(on_links(name, [1]), 10.0, 1000) for name in "ab"]
    for table in timetables(jobs, CAPACITIES_BPS, 10.0, 20.0, FAIR):
        assert table.bound_s(10) == pytest.approx(13.0)
        assert table.times_s(10)[0] == pytest.approx(0.3)
        assert table.ecn_marks(10) == pytest.approx(10 * table.ecn_marks(1))
        assert table.ecn_marks(1) == pytest.approx(LINK_BPS * 0.1 / 8 / 4096 * 0.5)  # half of its packets


def test_jobs_half_an_iteration_apart_are_not_in_each_others_way() -> None:
    jobs = [Iterating(on_links("a", [1]), 10.0, 1000), Iterating(on_links("b", [1]), 10.1, 1000)]
    for table, job in zip(timetables(jobs, CAPACITIES_BPS, 10.0, 20.0, FAIR), jobs, strict=True):
        assert table.bound_s(40) == pytest.approx(job.start_s + 8.0)
        assert table.ecn_marks(40) == pytest.approx(0.0, abs=1e-6)


def test_a_job_that_crosses_a_link_twice_slows_itself_down() -> None:
    (table,) = timetables(
        [Iterating(on_links("a", [1], share=2.0), 0.0, 100)], CAPACITIES_BPS, 0.0, 9.0, FAIR
    )
    assert table.times_s(5)[0] == pytest.approx(0.3)


def test_after_what_was_simulated_iterations_go_on_as_they_had_become() -> None:
    jobs = [Iterating(on_links(name, [1]), 0.0, 100_000) for name in "ab"]
    table = timetables(jobs, CAPACITIES_BPS, 0.0, 1e9, FAIR)[0]
    assert len(table.marks) < 2 * MOST_SIMULATED
    assert table.bound_s(100_000) == pytest.approx(30_000.0)
    times_s, often = table.times_s(100_000)
    assert often.sum() == 100_000
    assert times_s @ often == pytest.approx(30_000.0)


def test_iterations_under_way_are_simulated_to_their_end() -> None:
    jobs = [Iterating(on_links(name, [1]), 0.0, 1000) for name in "ab"]
    table = timetables(jobs, CAPACITIES_BPS, 0.0, 1.0, FAIR)[0]
    assert table.started_before(1.0, 1000) == 4
    assert len(table.marks) >= 4
    assert table.bound_s(4) == pytest.approx(1.2)


def test_iterations_that_start_before_a_time_are_counted() -> None:
    table = Timetable(np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0]), 0.5, 7.0)
    assert [table.started_before(time_s, 99) for time_s in (1.0, 1.1, 2.0, 4.0, 4.1, 4.5, 4.6)] == [
        0,
        1,
        1,
        2,
        3,
        3,
        4,
    ]
    assert table.started_before(9.0, 3) == 3
    assert table.bound_s(4) == 5.0
    assert table.ecn_marks(4) == 22.0
    assert undisturbed(2.0, 0.5).started_before(3.0, 99) == 2


def test_a_job_on_the_network_of_the_preset_meets_others_on_uplinks_only() -> None:
    network = cassini_24()
    links, shares = network.link_shares("a", np.array([0, 1]), np.array([1, 0]), np.ones(2))
    assert len(links) == 4
    assert shares.tolist() == [1.0] * 4
