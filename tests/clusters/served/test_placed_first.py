"""A served model on whole servers: first in the queue, whatever is wired ahead for training."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters.conftest import LOOK_AHEAD, OCS, ONE_PLANE, by_hand
from topoopt.catalog import ClusterSpec
from topoopt.clusters import ClusterSettings, CourseFabric, JobRecord, Trace, TraceJob, run_course
from topoopt.clusters.shards import Switching

SERVED = "rate=48 isl=100 osl=10 prefill_servers=1"


def service(name: str, arrival_s: float, duration_s: float, servers: int = 4) -> TraceJob:
    return TraceJob(name, "llama3-8b", servers, arrival_s, duration_s=duration_s, serving=SERVED)


def training(name: str, arrival_s: float, iterations: float, servers: int = 4) -> TraceJob:
    return TraceJob(name, "dlrm", servers, arrival_s, iterations)


def ran(fabric: CourseFabric, servers: int, *jobs: TraceJob, **changes: str) -> dict[str, JobRecord]:
    words = ClusterSettings(ClusterSpec(servers, 2, 100e9, accelerator="h100"), **changes)  # type: ignore[arg-type]
    return {record.job: record for record in run_course(Trace("t", jobs), fabric, words).run.jobs}


@pytest.mark.parametrize("queue", ["fifo", "backfill"])
@pytest.mark.parametrize("switching", [None, ONE_PLANE, LOOK_AHEAD, OCS])
def test_it_goes_before_training_that_came_sooner_and_waits(switching: Switching | None, queue: str) -> None:
    jobs = (training("a", 0.0, 100), training("b", 1.0, 100), service("chat", 50.0, 40.0))
    found = ran(by_hand(switching), 4, *jobs, queue=queue)
    assert found["a"].end_s <= found["chat"].start_s < found["chat"].end_s <= found["b"].start_s
    assert found["chat"].end_s - found["chat"].start_s == pytest.approx(40.0)


def test_it_takes_the_servers_that_are_wired_ahead_for_training_if_there_are_no_others() -> None:
    # From 60 s on c's servers are idle but for b, whose wiring on them is begun at 1 s and takes longer than that.
    slow = Switching("patch-panel", planes=2, move_s=30.0, hands=1, change_s=0.5, elastic=False)
    jobs = (
        training("a", 0.0, 1000),
        training("c", 0.0, 60),
        training("b", 1.0, 10),
        service("chat", 200.0, 40.0),
    )
    found = ran(by_hand(slow), 8, *jobs)
    assert found["chat"].start_s < found["a"].end_s
    assert found["b"].start_s >= 120.0  # its fibers are not there sooner because somebody else had its ports


@given(
    arrivals=st.lists(
        st.tuples(st.integers(0, 60), st.booleans(), st.integers(1, 2)), min_size=2, max_size=6
    ),
    switching=st.sampled_from([None, ONE_PLANE, LOOK_AHEAD, OCS]),
    queue=st.sampled_from(["fifo", "backfill"]),
)
@settings(max_examples=25)
def test_no_training_that_came_later_or_waits_begins_before_it(
    arrivals: list[tuple[int, bool, int]], switching: Switching | None, queue: str
) -> None:
    jobs = [
        service(f"s{number}", float(at_s), 30.0)
        if served
        else training(f"t{number}", float(at_s), 40, 4 * size)
        for number, (at_s, served, size) in enumerate(arrivals)
    ]
    jobs.append(training("last", 200.0, 1))
    found = ran(by_hand(switching), 8, *jobs, queue=queue)
    assert len(found) == len(jobs)
    served = [record for record in found.values() if record.job.startswith("s")]
    for record in served:
        assert record.end_s - record.start_s == pytest.approx(30.0)
        given_s = record.arrival_s + record.queueing_s
        for other in found.values():
            other_s = other.arrival_s + other.queueing_s
            if other not in served and queue == "fifo" and switching is not LOOK_AHEAD:
                assert not record.arrival_s <= other_s < given_s
