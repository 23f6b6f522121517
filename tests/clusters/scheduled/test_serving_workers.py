"""Served models among training under every scheduler: placed at arrival, and never moved, shifted or cut short."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters.scheduled.hand_made import LINK_BPS, ring_job
from topoopt.clusters.interleave import SHARINGS
from topoopt.clusters.schedulers.table import SCHEDULERS
from topoopt.clusters.scheduling.model_workers import WorkerJob
from topoopt.clusters.scheduling.network import ScheduleSettings, cassini_24
from topoopt.clusters.scheduling.run import ScheduledCourse, cassini, run_scheduled
from topoopt.clusters.trace import Trace, TraceJob

NETWORK = cassini_24()
SERVED = "rate=1 isl=10 osl=10"
JOINED = [name for name in SCHEDULERS if not SCHEDULERS[name].dedicated]


def service(name: str, arrival_s: float, workers: int, duration_s: float) -> TraceJob:
    return TraceJob(name, "llama3-8b", workers, arrival_s, duration_s=duration_s, serving=SERVED)


def training(
    name: str, arrival_s: float, workers: int, iterations: float, least: int = 0, most: int = 0
) -> TraceJob:
    return TraceJob(
        name, "vgg16", workers, arrival_s, iterations=iterations, min_servers=least, max_servers=most
    )


def made(job: TraceJob, workers: int) -> WorkerJob:
    """Training sends half of its iteration; a served model all the time, at half of a link."""
    if job.serving:
        return ring_job(job.job, workers, iteration_time_s=1.0, duty=1.0, rate_bps=LINK_BPS / 2)
    return ring_job(job.job, workers)


def run(scheduler: str, *jobs: TraceJob, **how: object) -> ScheduledCourse:
    chosen = ScheduleSettings(scheduler, **how)  # type: ignore[arg-type]
    choosers = (cassini(NETWORK),) if chosen.cassini else ()
    return run_scheduled(Trace("t", jobs), NETWORK, made, chosen, choosers)


@pytest.mark.parametrize("cassini_too", [False, True])
@pytest.mark.parametrize("scheduler", JOINED)
def test_a_served_model_that_comes_later_is_placed_before_all_training_that_waits(
    scheduler: str, cassini_too: bool
) -> None:
    jobs = [training(f"t{number}", 0.0, 12, 4000) for number in range(3)]  # two of them fill the cluster
    course = run(scheduler, *jobs, service("chat", 100.0, 8, 2000.0), epoch_s=600.0, cassini=cassini_too)
    records = {job.job.job: job.record() for job in course.ended}
    chat = records.pop("chat")
    assert chat.end_s - chat.start_s == pytest.approx(2000.0)
    assert (chat.moves, chat.resizes) == (0, ())
    if SCHEDULERS[scheduler].leases:  # which end for it
        assert chat.start_s == 100.0
    else:  # nobody gives workers back before he is done, and then it is first
        first_s = min(record.end_s for record in records.values())
        assert chat.start_s == pytest.approx(first_s)
        assert all(record.start_s >= first_s for record in records.values() if record.start_s > 50)
    assert all(record.iterations == pytest.approx(4000) for record in records.values())


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("scheduler", JOINED)
def test_it_stays_as_long_as_the_trace_says_on_links_that_are_short(scheduler: str, sharing: str) -> None:
    jobs = [training(f"t{number}", 1.0, 5, 1000, 2, 9) for number in range(4)]
    course = run(scheduler, service("chat", 0.0, 6, 300.0), *jobs, sharing=sharing, epoch_s=60.0)
    chat = next(job.record() for job in course.ended if job.job.serving)
    assert (chat.start_s, chat.end_s, chat.moves, chat.resizes) == (0.0, 300.0, 0, ())


def test_with_a_cluster_of_its_own_it_stays_as_long_too() -> None:
    (chat,) = run("ideal", service("chat", 3.0, 6, 300.0)).ended
    assert (chat.record().start_s, chat.record().end_s) == (3.0, 303.0)


def test_cassini_shifts_training_around_it_and_never_it() -> None:
    jobs = [training(f"t{number}", 1.0 + number, 6, 2000) for number in range(3)]
    course = run("themis", service("chat", 0.0, 6, 1000.0), *jobs, cassini=True, epoch_s=60.0)
    chat = next(job for job in course.ended if job.job.serving)
    assert (chat.slot_s, chat.group) == (0.0, None)
    assert chat.record().start_s == 0.0


@given(
    services=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 10)), min_size=1, max_size=3),
    jobs=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 12)), min_size=1, max_size=4),
    scheduler=st.sampled_from(JOINED),
    cassini_too=st.booleans(),
)
@settings(max_examples=25)
def test_no_served_model_is_ever_moved_and_all_training_ends(
    services: list[tuple[int, int]], jobs: list[tuple[int, int]], scheduler: str, cassini_too: bool
) -> None:
    trace = [
        service(f"s{number}", float(at_s), workers, 200.0) for number, (at_s, workers) in enumerate(services)
    ]
    trace += [
        training(f"t{number}", float(at_s), workers, 500.0) for number, (at_s, workers) in enumerate(jobs)
    ]
    course = run(scheduler, *trace, cassini=cassini_too, epoch_s=90.0)
    assert len(course.ended) == len(trace)
    assert all(count <= 24 for _, _, count in course.changes)
    for job in course.ended:
        record = job.record()
        if job.job.serving:
            assert (record.moves, record.resizes) == (0, ())
            assert record.end_s == pytest.approx(record.start_s + 200.0)
        else:
            assert record.iterations == pytest.approx(500.0)
