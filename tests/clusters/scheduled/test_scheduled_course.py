"""The course of a cluster on single workers, followed with pencil and paper."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters.scheduled.hand_made import ring_jobs
from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.clusters.schedulers.table import SCHEDULERS
from topoopt.clusters.scheduling.model_workers import ChosenPlacement, Interleaver, Placement
from topoopt.clusters.scheduling.network import ScheduleSettings, WorkerNetwork, cassini_24
from topoopt.clusters.scheduling.run import ScheduledCourse, run_scheduled
from topoopt.clusters.trace import Trace, TraceJob

NETWORK = cassini_24()


def run(jobs: Sequence[TraceJob], scheduler: str, **how: object) -> ScheduledCourse:
    chosen = ScheduleSettings(scheduler, **{"staggered": False, **how})  # type: ignore[arg-type]
    return run_scheduled(Trace("t", tuple(jobs)), NETWORK, ring_jobs(), chosen)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_job_alone_takes_its_iterations(scheduler: str) -> None:
    """300 iterations of 200 ms; a ring in one rack meets nobody, and one by way of uplinks only itself."""
    (job,) = run([TraceJob("a", "m", 4, 5.0, iterations=300)], scheduler).ended
    record = job.record()
    assert record.iterations == pytest.approx(300)
    assert record.start_s == 5.0
    assert record.queueing_s == 0.0
    if SCHEDULERS[scheduler].near:
        assert record.end_s == pytest.approx(65.0)
        assert record.iteration_time_s.p99 == pytest.approx(0.2)


def test_a_worker_alone_computes_and_takes_nobodys_links() -> None:
    """Alone it does the 200 ms of an iteration, as hand-made jobs do whatever their size; its work is done in 10."""
    course = run(
        [TraceJob("a", "m", 1, 0.0, iterations=10), TraceJob("b", "m", 4, 0.0, iterations=10)], "proximity"
    )
    assert [len(job.record().servers) for job in course.ended] == [1, 4]
    assert [job.record().end_s for job in course.ended] == pytest.approx([2.0, 2.0])


def test_an_elastic_job_makes_room_down_to_one_worker() -> None:
    jobs = [TraceJob("a", "m", 12, 0.0, iterations=900, min_servers=1, max_servers=24)]
    jobs += [TraceJob(name, "m", 12, 10.0, iterations=300, min_servers=11) for name in "bc"]
    sizes = [size for _, size in run(jobs, "pollux", epoch_s=60.0).ended[0].record().resizes]
    assert min(sizes) in (1, 2)


def test_jobs_wait_in_order_of_arrival() -> None:
    """Two jobs of 12 for 60 s each; the third one begins when the first ends."""
    jobs = [TraceJob(name, "m", 12, float(at), iterations=300) for at, name in enumerate("abc")]
    course = run(jobs, "proximity")
    first, _, third = (job.record() for job in course.ended)
    assert third.start_s == pytest.approx(first.end_s)
    assert third.queueing_s == pytest.approx(first.end_s - 2.0)
    assert max(servers for _, _, servers in course.changes) == 24


def test_with_a_cluster_of_its_own_nobody_waits() -> None:
    jobs = [TraceJob(name, "m", 12, float(at), iterations=300) for at, name in enumerate("abc")]
    course = run(jobs, "ideal")
    assert [job.record().end_s for job in course.ended] == pytest.approx([60.0, 61.0, 62.0])
    assert course.changes[2][1:] == (3, 36)
    assert course.changes[-1][0] == pytest.approx(62.0)
    assert course.changes[-1][1:] == (0, 0)


def test_an_elastic_job_grows_when_it_is_alone() -> None:
    """12 workers do the work of six in half the time."""
    job = TraceJob("a", "m", 6, 0.0, iterations=300, min_servers=2, max_servers=12)
    (ended,) = run([job], "themis").ended
    assert len(ended.record().servers) == 12
    assert ended.record().completion_time_s == pytest.approx(
        0.2 * 150 * 1.5
    )  # two workers worth 4/3: see below


def test_beyond_the_batch_that_was_asked_for_samples_are_worth_less() -> None:
    """Twice the workers do (φ + M)/(φ + 2M) = 2/3 of twice the work with φ = M: 225 iterations for 300."""
    job = TraceJob("a", "m", 6, 0.0, iterations=300, min_servers=2, max_servers=12)
    assert run([job], "themis").ended[0].record().iterations == pytest.approx(225)
    assert run([job], "themis", noise_scale=1e9).ended[0].record().iterations == pytest.approx(150)


def test_leases_end_with_the_epoch() -> None:
    """Two jobs that came later wait until the first one's lease is over, after 60 s."""
    jobs = [TraceJob("a", "m", 12, 0.0, iterations=3000, min_servers=2, max_servers=24)]
    jobs += [TraceJob(name, "m", 12, 10.0, iterations=300, min_servers=2, max_servers=12) for name in "bc"]
    course = run(jobs, "themis", epoch_s=60.0)
    records = [job.record() for job in course.ended]
    assert [record.start_s for record in records] == [0.0, 60.0, 60.0]
    assert [workers for _, workers in records[0].resizes] == [0, 24]
    assert [time_s for time_s, _ in records[0].resizes] == pytest.approx([60.0, 120.0])


def test_a_job_that_moves_stands_still_while_it_restarts() -> None:
    jobs = [
        TraceJob("a", "m", 12, 0.0, iterations=3000, min_servers=2, max_servers=24),
        TraceJob("b", "m", 12, 10.0, iterations=300, min_servers=2, max_servers=24),
    ]
    at_once = run(jobs, "themis", epoch_s=60.0).ended[0].record()
    later = run(jobs, "themis", epoch_s=60.0, restart_s=5.0).ended[0].record()
    assert at_once.rewiring_s == 0.0
    assert later.rewiring_s == 5.0  # when it goes on, after it has made way for the other one


def test_jobs_begin_within_an_iteration_of_getting_workers() -> None:
    jobs = [TraceJob(str(at), "m", 4, 0.0, iterations=10) for at in range(6)]
    starts_s = [job.record().start_s for job in run(jobs, "proximity", staggered=True).ended]
    assert len(set(starts_s)) == 6
    assert 0 <= min(starts_s) < max(starts_s) < 0.2
    assert {job.record().queueing_s for job in run(jobs, "proximity", staggered=True).ended} == {0.0}


def test_equal_seeds_give_equal_courses() -> None:
    jobs = [TraceJob(str(at), "m", 7, float(at), iterations=300) for at in range(5)]
    one, again, other = ([job.record() for job in run(jobs, "random", seed=seed).ended] for seed in (1, 1, 2))
    assert one == again
    assert one != other


@settings(max_examples=25)
@given(
    sizes=st.lists(st.tuples(st.integers(2, 12), st.floats(0, 300)), min_size=1, max_size=8),
    scheduler=st.sampled_from(sorted(SCHEDULERS)),
    sharing=st.sampled_from(["fair", "mltcp", "static"]),
)
def test_every_job_does_its_work_and_no_server_has_two_jobs(
    sizes: list[tuple[int, float]], scheduler: str, sharing: str
) -> None:
    jobs = [
        TraceJob(str(n), "m", size, at_s, iterations=100, min_servers=2, max_servers=12)
        for n, (size, at_s) in enumerate(sizes)
    ]
    course = run(jobs, scheduler, sharing=sharing, epoch_s=30.0, noise_scale=1e12)
    assert len(course.ended) == len(jobs)
    for job in course.ended:
        assert job.done == pytest.approx(
            100, abs=6
        )  # the last iteration may be of more workers than are needed
        assert job.done >= 100 - 1e-6
        record = job.record()
        assert record.arrival_s <= record.start_s <= record.end_s
        assert record.iteration_time_s.mean >= 0.2 - 1e-5
        assert sum(job.weights.values()) == pytest.approx(record.iterations)
    if not SCHEDULERS[scheduler].dedicated:
        assert max(servers for _, _, servers in course.changes) <= 24


def halves(candidates: Sequence[Placement], capacities_bps: Floats) -> ChosenPlacement:
    """Shift every other job by half an iteration, in the scheduler's own placement."""
    count = len(candidates[0])
    return ChosenPlacement(
        0, 0.75, tuple(0.1 * (n % 2) for n in range(count)), (0.2,) * count, (tuple(range(count)),)
    )


def test_shifted_jobs_of_half_an_iteration_each_are_not_in_each_others_way() -> None:
    """Two jobs of six have a rack in common, whose two uplinks they share where their paths collide."""
    jobs = tuple(TraceJob(str(n), "m", 6, 0.0, iterations=300) for n in range(2))
    network, plain = next(
        (network, course)
        for network in map(cassini_24, range(20))
        if max((course := by_proximity(network, jobs)).ended[0].weights) > 0.25
    )
    shifted = by_proximity(network, jobs, (halves,))
    assert [job.mean_s for job in plain.ended] == pytest.approx([0.3, 0.3])
    assert [job.mean_s for job in shifted.ended] == pytest.approx(
        [0.2, 0.2 + 0.1 / 300]
    )  # one waits 0.1 s, once
    assert [job.record().end_s for job in shifted.ended] == pytest.approx([60.0, 60.1])
    assert plain.ended[0].marks > 0
    assert shifted.ended[0].marks == pytest.approx(0.0, abs=1e-3)
    assert set(shifted.scores) == {0.75}


def by_proximity(
    network: WorkerNetwork, jobs: tuple[TraceJob, ...], interleavers: tuple[Interleaver, ...] = ()
) -> ScheduledCourse:
    chosen = ScheduleSettings("proximity", cassini=bool(interleavers), staggered=False)
    return run_scheduled(Trace("t", jobs), network, ring_jobs(), chosen, interleavers)


def test_a_job_larger_than_the_cluster_is_refused() -> None:
    with pytest.raises(InvalidInput, match="needs 30 servers, the cluster has 24"):
        run([TraceJob("a", "m", 30, 0.0, iterations=3)], "themis")


def test_settings_that_have_no_meaning_are_refused() -> None:
    with pytest.raises(InvalidInput, match="with scheduler ideal no job shares a link"):
        ScheduleSettings("ideal", cassini=True)
    with pytest.raises(InvalidInput, match='scheduler: unknown name "thems"; did you mean themis'):
        ScheduleSettings("thems")
    with pytest.raises(InvalidInput, match="epoch_s: expected a number > 0, got 0"):
        ScheduleSettings("themis", epoch_s=0.0)
    assert ScheduleSettings("pollux", cassini=True, sharing="mltcp").name == "pollux+cassini+mltcp"
