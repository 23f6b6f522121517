"""Elastic jobs shrink for others, grow when servers are idle, and do all their work."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters.conftest import LOOK_AHEAD, OCS, by_hand
from topoopt.catalog import ClusterSpec
from topoopt.clusters import ClusterSettings, CourseFabric, JobRecord, Trace, TraceJob, run_course
from topoopt.clusters.shards import ocs_switching

OPTICS = {"piezo": 0.025, "polatis-576": 0.047 + 5.67, "google-palomar": 0.003}
"""Seconds without traffic; of Google's own links nobody says how long they take."""


def elastic(
    name: str, arrival_s: float, iterations: float, servers: int, least: int = 0, most: int = 0
) -> TraceJob:
    return TraceJob(name, "dlrm", servers, arrival_s, iterations, min_servers=least, max_servers=most)


def ran(fabric: CourseFabric, servers: int, *jobs: TraceJob) -> dict[str, JobRecord]:
    run = run_course(Trace("t", jobs), fabric, ClusterSettings(ClusterSpec(servers, 2, 100e9))).run
    return {record.job: record for record in run.jobs}


def test_a_job_shrinks_when_another_comes_and_grows_when_it_has_gone() -> None:
    """Iterations take 1 s on any size: half of the servers do half of the work."""
    found = ran(by_hand(), 8, elastic("a", 0, 20, 8, least=4), elastic("b", 10, 5, 4))
    assert (found["b"].start_s, found["b"].end_s) == (10.0, 15.0)
    assert found["a"].resizes == ((10.0, 4), (15.0, 8))
    assert found["a"].end_s == pytest.approx(10 + 5 + 7.5)  # 10 done, 2.5 in 5 s on half, 7.5 left


def test_a_job_pauses_while_optical_switches_change() -> None:
    found = ran(by_hand(OCS), 8, elastic("a", 0, 20, 8, least=4), elastic("b", 10, 5, 4))
    assert found["b"].start_s == 10.5
    assert [size for _, size in found["a"].resizes] == [4, 8]
    assert found["a"].rewiring_s == pytest.approx(1.5)  # at the start, for shrinking, for growing


def test_circuits_of_a_product_carry_traffic_once_its_links_are_up_again() -> None:
    of = {name: ocs_switching(ClusterSettings(ClusterSpec(8, 2, 100e9), ocs=name)) for name in OPTICS}
    assert {name: rules.change_s for name, rules in of.items()} == pytest.approx(OPTICS)


def test_a_job_starts_smaller_rather_than_wait_and_larger_than_asked_where_there_is_room() -> None:
    found = ran(
        by_hand(), 8, elastic("a", 0, 4, 4), elastic("b", 0, 8, 8, least=4), elastic("c", 100, 8, 4, most=8)
    )
    assert found["b"].start_s == 0.0
    assert len(found["b"].servers) == 4
    assert found["c"].resizes == ((100.0, 8),)
    assert found["c"].end_s == pytest.approx(104.0)


def test_a_job_that_asks_for_more_than_the_cluster_has_runs_on_what_there_is() -> None:
    found = ran(by_hand(), 8, elastic("a", 0, 10, 16, least=4))["a"]
    assert len(found.servers) == 8
    assert found.end_s == pytest.approx(20.0)


def test_growing_that_is_not_worth_the_pause_is_left() -> None:
    """At the end of ``a`` there is a quarter of a second left of ``b``, half a second of pause would be too much."""
    found = ran(by_hand(OCS), 8, elastic("a", 0, 9.75, 4), elastic("b", 0, 10, 4, most=8))
    assert found["b"].resizes == ()


def test_nobody_shrinks_in_vain() -> None:
    found = ran(by_hand(), 8, elastic("a", 0, 10, 4), elastic("b", 0, 10, 4, least=2), elastic("c", 1, 5, 8))
    assert found["b"].resizes == ()


def test_on_panels_jobs_keep_the_size_that_they_start_with() -> None:
    found = ran(by_hand(LOOK_AHEAD), 8, elastic("a", 0, 20, 8, least=4), elastic("b", 10, 5, 4))
    assert found["a"].resizes == ()
    assert found["b"].start_s > found["a"].end_s


JOBS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 20), st.sampled_from([2, 4]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=10,
)


@settings(max_examples=40)
@given(JOBS, st.sampled_from([OCS, None]))
def test_all_work_is_done_whatever_the_sizes(rows, switching) -> None:  # type: ignore[no-untyped-def]
    jobs = [
        elastic(str(i), at_s, work, size, least=2 if shrinks else 0, most=8 if grows else 0)
        for i, (at_s, work, size, shrinks, grows) in enumerate(rows)
    ]
    found = ran(by_hand(switching), 8, *jobs)
    for job in jobs:
        record, size = found[job.job], len(found[job.job].servers)
        done, since_s = 0.0, record.start_s
        for at_s, larger in record.resizes:
            done += max(at_s - since_s, 0.0) * size / job.servers
            since_s, size = at_s + (0.5 if switching else 0.0), larger
        done += (record.end_s - since_s) * size / job.servers
        assert done == pytest.approx(job.iterations)
