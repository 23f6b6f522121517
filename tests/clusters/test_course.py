"""The course of a cluster, followed by hand: queueing, wiring, progress, and what is counted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters.conftest import LOOK_AHEAD, OCS, ONE_PLANE, by_hand
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.clusters import ClusterSettings, CourseFabric, JobRecord, Trace, TraceJob, run_course


def job(name: str, arrival_s: float, iterations: float, servers: int = 4) -> TraceJob:
    return TraceJob(name, "dlrm", servers, arrival_s, iterations)


def cluster(servers: int, **changes: str) -> ClusterSettings:
    return ClusterSettings(ClusterSpec(servers, 2, 100e9), **changes)  # type: ignore[arg-type]


def ran(fabric: CourseFabric, servers: int, *jobs: TraceJob, **changes: str) -> dict[str, JobRecord]:
    run = run_course(Trace("by hand", jobs), fabric, cluster(servers, **changes)).run
    return {record.job: record for record in run.jobs}


def times(record: JobRecord) -> tuple[float, float, float, float]:
    return record.queueing_s, record.rewiring_s, record.start_s, record.end_s


def test_a_job_that_is_alone_takes_its_iterations() -> None:
    found = ran(by_hand(seconds=lambda servers: 0.5), 4, job("a", 3.0, 10))["a"]
    assert times(found) == (0.0, 0.0, 3.0, 8.0)
    assert found.completion_time_s == 5.0
    assert (found.iterations, found.iteration_time_mean_s, found.iteration_time_p99_s) == (10, 0.5, 0.5)


def test_a_job_waits_until_servers_are_free() -> None:
    found = ran(by_hand(), 4, job("a", 0.0, 10), job("b", 4.0, 5))
    assert times(found["b"]) == (6.0, 0.0, 10.0, 15.0)


def test_jobs_that_slow_each_other_down_share_like_processors() -> None:
    """Two alike that start together take twice as long; what is left when one has gone is quick again."""
    found = ran(by_hand(slowdown=lambda running: running), 8, job("a", 0.0, 10), job("b", 0.0, 20))
    assert found["a"].end_s == pytest.approx(20.0)
    assert found["b"].end_s == pytest.approx(30.0)
    assert found["b"].iteration_time_mean_s == pytest.approx(1.5)
    assert found["b"].iteration_time_p99_s == 2.0


def test_first_come_first_served_lets_a_short_job_wait_behind_a_large_one() -> None:
    jobs = job("long", 0.0, 10), job("large", 1.0, 5, servers=8), job("short", 2.0, 3)
    assert ran(by_hand(), 8, *jobs)["short"].start_s == 15.0


def test_backfilling_fills_the_gap_and_delays_nobody() -> None:
    jobs = job("long", 0.0, 10), job("large", 1.0, 5, servers=8), job("short", 2.0, 3), job("slow", 2.0, 9)
    for fabric in (by_hand(), by_hand(OCS)):
        found = ran(fabric, 8, *jobs, queue="backfill")
        wiring_s = found["long"].rewiring_s
        assert found["short"].queueing_s == 0.0
        assert found["large"].start_s == 10.0 + 2 * wiring_s
        assert found["slow"].queueing_s == pytest.approx(13.0 + 2 * wiring_s)


def test_backfilling_expects_a_move_for_each_cable_not_for_each_of_its_two_links() -> None:
    """A ring of 4 is ready after 4 s, so 5 iterations are done at 11, before the large job gets its servers."""
    jobs = job("long", 0.0, 10), job("large", 1.0, 5, servers=8), job("short", 4.0, 5)
    found = ran(by_hand(ONE_PLANE), 8, *jobs, queue="backfill")
    assert times(found["short"]) == (0.0, 4.0, 8.0, 13.0)
    assert found["large"].queueing_s == 13.0


def test_without_look_ahead_every_wiring_is_waited_for() -> None:
    """A ring of 4 has 4 fibers of 1 s each; the second one finds its ring in place."""
    other = by_hand(ONE_PLANE)
    found = ran(other, 4, job("a", 0.0, 10), job("b", 0.0, 10))
    assert times(found["a"]) == (0.0, 4.0, 4.0, 14.0)
    assert times(found["b"]) == (14.0, 0.0, 14.0, 24.0)
    assert (found["a"].moves, found["b"].moves) == (4, 0)


def test_with_look_ahead_the_next_job_only_waits_for_the_flip() -> None:
    found = ran(by_hand(LOOK_AHEAD), 4, job("a", 0.0, 10), job("b", 2.0, 10))
    assert times(found["a"]) == (0.0, 4.5, 4.5, 14.5)
    assert times(found["b"]) == (12.5, 0.5, 15.0, 25.0)
    assert (found["a"].moves, found["b"].moves) == (4, 4)  # on the other set of panels


def test_hands_make_one_wiring_after_another() -> None:
    found = ran(by_hand(ONE_PLANE), 8, job("a", 0.0, 1), job("b", 0.0, 1))
    assert (found["a"].rewiring_s, found["b"].rewiring_s) == (4.0, 8.0)


def test_a_wiring_that_is_not_ready_when_its_servers_are_is_waited_for() -> None:
    found = ran(by_hand(LOOK_AHEAD), 4, job("a", 0.0, 10), job("b", 13.5, 10))
    assert times(found["b"]) == (1.0, 3.5, 18.0, 28.0)


def test_optical_circuit_switches_are_quick_but_not_free() -> None:
    found = ran(by_hand(OCS), 4, job("a", 0.0, 10), job("b", 0.0, 10))
    assert times(found["b"]) == (10.5, 0.5, 11.0, 21.0)


def test_a_job_shorter_than_the_clock_can_tell_ends_when_it_starts() -> None:
    found = ran(by_hand(), 4, job("a", 1e9, 1e-9))["a"]
    assert (found.start_s, found.end_s) == (1e9, 1e9)
    assert found.iteration_time_mean_s == pytest.approx(1.0)
    assert found.iteration_time_p99_s == 1.0


def test_use_is_counted_while_jobs_iterate() -> None:
    run = run_course(Trace("t", (job("a", 0.0, 6),)), by_hand(ONE_PLANE), cluster(8)).run
    assert run.utilization == pytest.approx(6.0 * 4 / (10.0 * 8))  # 4 s of wiring, then half of the servers
    assert run.running == ((4.0, 1, 4.0), (10.0, 0, 0.0))


def test_weighting_by_jobs_or_by_iterations() -> None:
    jobs = Trace("t", (job("a", 0.0, 90), job("b", 0.0, 10, servers=2)))
    fabric = by_hand(seconds=lambda servers: 1.0 if servers == 4 else 2.0)
    mean_s = {
        how: run_course(jobs, fabric, cluster(6, weighting=how)).run.iteration_time_s.mean
        for how in ("jobs", "iterations")
    }
    assert mean_s == {"jobs": pytest.approx(1.5), "iterations": pytest.approx(1.1)}


def test_a_job_larger_than_the_cluster_is_refused() -> None:
    with pytest.raises(InvalidInput, match="t: job a: needs 9 servers, the cluster has 8; use servers=9"):
        run_course(Trace("t", (job("a", 0.0, 1, servers=9),)), by_hand(), cluster(8))


JOBS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 20), st.sampled_from([2, 3, 4, 5, 8])),
    min_size=1,
    max_size=14,
)


@settings(max_examples=40)
@given(
    JOBS,
    st.sampled_from([LOOK_AHEAD, ONE_PLANE, OCS, None]),
    st.sampled_from(["fifo", "backfill"]),
    st.data(),
)
def test_no_job_ever_runs_on_a_link_that_another_owns(rows, switching, queue, data) -> None:  # type: ignore[no-untyped-def]
    placement = data.draw(st.sampled_from(["contiguous", "strided", "random"]))
    jobs = [job(str(i), *row) for i, row in enumerate(rows)]
    fabric = by_hand(switching, strides=lambda shape: [2 if shape.servers == 5 else 1])
    course = run_course(Trace("t", tuple(jobs)), fabric, cluster(9, queue=queue, placement=placement))
    assert {record.job for record in course.run.jobs} == {each.job for each in jobs}
    for record in course.run.jobs:
        assert record.end_s - record.start_s == pytest.approx(record.iterations)
        assert record.queueing_s >= 0
        assert record.start_s - record.arrival_s == pytest.approx(record.queueing_s + record.rewiring_s)
    runs = [(record.servers, record.start_s, record.end_s) for record in course.run.jobs]
    _check_disjoint(runs)
    for held in course.wirings:
        assert held.from_s <= held.active_s <= held.to_s
        assert {server for patch in held.patches for server in (patch.src, patch.dst)} <= set(held.servers)
        ports = [(p.src, p.src_interface) for p in held.patches] + [
            (p.dst, p.dst_interface) for p in held.patches
        ]
        assert len(set(ports)) == len(ports)
        assert all(interface < 2 for _, interface in ports)
    if switching is not None:
        assert len(course.wirings) == len(jobs)
    for plane in (0, 1):
        _check_disjoint([(h.servers, h.from_s, h.to_s) for h in course.wirings if h.plane == plane])
    _check_disjoint([(h.servers, h.active_s, h.to_s) for h in course.wirings])


def _check_disjoint(spans: list[tuple[tuple[int, ...], float, float]]) -> None:
    """Nobody has a server in a time in which another has it."""
    for index, (servers, from_s, to_s) in enumerate(spans):
        for others, other_from_s, other_to_s in spans[:index]:
            together = max(from_s, other_from_s) < min(to_s, other_to_s)
            assert not (together and set(servers) & set(others))


@settings(max_examples=25)
@given(JOBS)
def test_backfilling_never_delays_the_first_in_the_queue(rows: list[tuple[int, int, int]]) -> None:
    """All come at once: the first that has to wait starts when it would have started without backfilling."""
    jobs = [job(str(i), 0.0, work, size) for i, (_, work, size) in enumerate(rows)]
    plain, filled = (ran(by_hand(), 9, *jobs, queue=queue) for queue in ("fifo", "backfill"))
    waiting = [each.job for each in jobs if plain[each.job].queueing_s > 0]
    if waiting:
        assert filled[waiting[0]].start_s <= plain[waiting[0]].start_s


def test_equal_seeds_give_equal_courses() -> None:
    jobs = [job(str(i), i, 7, 3) for i in range(6)]
    first, second = (ran(by_hand(ONE_PLANE), 9, *jobs, placement="random") for _ in range(2))
    assert first == second
