"""Jobs that repeat on shared links: iteration times with closed forms, the specification's, and what always holds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.fluid.max_min import max_min_rates
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    CommunicationProfile,
    LinkSharing,
    PeriodicJob,
    PeriodicRun,
    Phase,
    fair_sharing,
    mltcp_sharing,
    offsets,
    run_periodic_jobs,
    static_sharing,
)
from topoopt.simulation import DECREASING, Aggressiveness

C = 50e9


def profile(
    name: str, period_s: float, *phases: tuple[float, float], rate: float = C
) -> CommunicationProfile:
    return CommunicationProfile(name, period_s, tuple(Phase(start, length, rate) for start, length in phases))


def pair(a: float, offset: float, sharing: LinkSharing | None = None, iterations: int = 8) -> PeriodicRun:
    """Two jobs of period 1 that send at full rate for a, the second one ``offset`` of that later."""
    alike = [profile(name, 1.0, (0.0, a)) for name in "ab"]
    jobs = [PeriodicJob(alike[0]), PeriodicJob(alike[1], begin_s=offset * a)]
    return run_periodic_jobs(jobs, [C], sharing=sharing, iterations=iterations)


def test_a_job_alone_takes_its_iteration_time_whatever_its_phases() -> None:
    for phases in (((0.0, 0.04),), ((0.02, 0.01), (0.05, 0.03)), ((0.01, 0.01), (0.09, 0.015)), ()):
        job = PeriodicJob(profile("a", 0.1, *phases), begin_s=0.013)
        run = run_periodic_jobs([job], [C], iterations=5)
        np.testing.assert_allclose(run.jobs[0].time_s, 0.1, rtol=1e-12)
        np.testing.assert_allclose(run.jobs[0].start_s, 0.013 + 0.1 * np.arange(5), rtol=1e-12)
        np.testing.assert_allclose(
            run.jobs[0].communication_s, math.fsum(length for _, length in phases), atol=1e-15
        )
        assert run.ecn_marks == 0


def test_mltcp_gives_the_iteration_times_of_the_specification() -> None:
    """a = 0.4, x0 = 0.05; the fifth is 1 + 0.4 (1 - x5) with odds 8**5 / 19, 1.00023."""
    time_s = pair(0.4, 0.05, mltcp_sharing()).jobs[0].time_s
    np.testing.assert_allclose(time_s[:5], [1.2815, 1.0916, 1.0143, 1.0019, 1.0003], atol=1e-4)
    np.testing.assert_allclose(time_s, 1 + 0.4 * (1 - offsets(0.05, 9, Aggressiveness())[1:]), atol=2e-5)
    assert time_s[-1] == pytest.approx(1.0, abs=1e-5)


def test_mltcp_gives_the_offsets_of_the_recursion() -> None:
    first, second = pair(0.4, 0.01, mltcp_sharing()).jobs
    offset = (second.send_s - first.send_s) / 0.4
    np.testing.assert_allclose(offset[:6], [0.01, 0.0748, 0.3926, 0.8380, 0.9764, 0.9970], atol=1e-4)


def test_fair_sharing_stays_as_slow_for_ever() -> None:
    for job in pair(0.4, 0.05, fair_sharing(), 100).jobs:
        np.testing.assert_allclose(job.time_s, 1.38, rtol=1e-9)


def test_jobs_that_cannot_interleave_settle_where_the_link_is_never_idle() -> None:
    for job in pair(0.6, 0.05, mltcp_sharing(), 40).jobs:
        np.testing.assert_allclose(job.time_s[-10:], 1.2, rtol=1e-6)
    assert pair(0.6, 0.05, fair_sharing(), 40).jobs[0].settled_s() > 1.4


def test_other_increasing_forms_interleave_too_and_a_decreasing_one_locks_in_full_overlap() -> None:
    for form in ("quadratic", "reciprocal"):
        run = pair(0.4, 0.2, mltcp_sharing(Aggressiveness(form=form)), 40)
        assert run.jobs[0].time_s[-1] == pytest.approx(1.0, abs=1e-3)
    run = pair(0.4, 0.8, mltcp_sharing(DECREASING), 40)
    assert run.jobs[0].time_s[-1] == pytest.approx(1.4, abs=1e-3)


def test_learned_totals_begin_as_fair_sharing_and_interleave_afterwards() -> None:
    time_s = pair(0.4, 0.05, mltcp_sharing(learning_iterations=3), 12).jobs[0].time_s
    np.testing.assert_allclose(time_s[:3], 1.38, rtol=1e-9)
    np.testing.assert_allclose(time_s[3:8], [1.2815, 1.0916, 1.0143, 1.0019, 1.0003], atol=1e-4)


def test_static_unfairness_parts_two_equal_jobs() -> None:
    """With 60-40 the first job sends its rest 1 - x in (1 - x) / 0.6, the second y = (1 - x) 2 / 3 of its own then."""
    time_s = pair(0.4, 0.05, static_sharing(0.6), 6).jobs[0].time_s
    np.testing.assert_allclose(time_s, 1 + 0.4 * 0.95 * (2 / 3) ** np.arange(1, 7), rtol=1e-9)


def test_shifts_that_interleave_give_the_times_of_dedicated_links() -> None:
    """40 and 60 ms with 10 ms at the full rate: the first rotated by 30 degrees of 120 ms, which is 10 ms."""
    forty, sixty = profile("forty", 0.04, (0.0, 0.01)), profile("sixty", 0.06, (0.0, 0.01))
    shifted = run_periodic_jobs([PeriodicJob(forty, begin_s=0.01), PeriodicJob(sixty)], [C], iterations=30)
    for job in shifted.jobs:
        np.testing.assert_allclose(job.time_s, job.alone_s, rtol=1e-9)
    assert shifted.links[0].oversubscribed_s == pytest.approx(0.0, abs=1e-9)
    together = run_periodic_jobs([PeriodicJob(forty), PeriodicJob(sixty)], [C], until_s=0.05)
    assert together.jobs[0].time_s[0] == pytest.approx(0.05)
    assert together.links[0].oversubscribed_s == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("u", "v", "fits"), [(0.01, 0.01, True), (0.012, 0.008, True), (0.011, 0.010, False)]
)
def test_full_rate_jobs_fit_together_exactly_if_their_duties_fit_into_the_gcd(
    u: float, v: float, fits: bool
) -> None:
    """gcd(40, 60) = 20 ms."""
    jobs = [profile("forty", 0.04, (0.0, u)), profile("sixty", 0.06, (0.0, v))]
    runs = [
        run_periodic_jobs([PeriodicJob(jobs[0], begin_s=shift), PeriodicJob(jobs[1])], [C], until_s=0.36)
        for shift in np.arange(0, 20) * 1e-3
    ]
    quiet = [run.links[0].oversubscribed_s < 1e-9 for run in runs]
    assert any(quiet) == fits


def test_rates_on_many_links_are_max_min_fair() -> None:
    """Two links of 10 and 4: one job on the first, one on both: 6 and 4 while both send."""
    one, both = profile("one", 10.0, (0.0, 3.0), rate=10.0), profile("both", 10.0, (0.0, 3.0), rate=10.0)
    jobs = [PeriodicJob(one, {0: 1.0}), PeriodicJob(both, {0: 1.0, 1: 1.0})]
    run = run_periodic_jobs(jobs, [10.0, 4.0], iterations=1)
    assert run.jobs[0].communication_s[0] == pytest.approx(30 / 6)
    assert run.jobs[1].communication_s[0] == pytest.approx(30 / 4)
    assert run.links[0].carried_bytes == pytest.approx(60 / 8)
    assert run.links[1].carried_bytes == pytest.approx(30 / 8)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_first_rates_are_those_of_the_filling_of_flows_on_random_links(seed: int) -> None:
    """What jobs have sent after a moment is the moment times their max-min rates, each below its own ceiling."""
    rng = np.random.default_rng(seed)
    jobs, links = 5, 4
    capacity = rng.uniform(5, 20, links)
    uses = [
        {int(m): float(rng.uniform(0.5, 1)) for m in rng.choice(links, rng.integers(1, 4), False)}
        for _ in range(jobs)
    ]
    peak = rng.uniform(1, 12, jobs)
    run = run_periodic_jobs(
        [PeriodicJob(profile(str(k), 1e3, (0.0, 500.0), rate=peak[k]), uses[k]) for k in range(jobs)],
        capacity,
        until_s=1e-3,
    )
    own = [{**use, links + k: 1.0} for k, use in enumerate(uses)]  # the ceiling as a link of its own
    rates = max_min_rates(
        np.concatenate([capacity, peak]),
        np.cumsum([0, *map(len, own)]),
        np.array([m for use in own for m in use]),
        np.array([part for use in own for part in use.values()]),
        np.ones(jobs),
    )
    np.testing.assert_allclose([8 * job.sent_bytes / 1e-3 for job in run.jobs], rates, rtol=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["fair", "static", "mltcp"]))
def test_bytes_are_conserved_and_nobody_is_quicker_than_alone(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    sharing = {"fair": fair_sharing(), "static": static_sharing(), "mltcp": mltcp_sharing()}[name]
    jobs = [_random_job(rng, str(number)) for number in range(4)]
    run = run_periodic_jobs(jobs, [C, C, C / 2], sharing=sharing, iterations=12, seed=seed)
    loads = np.zeros(3)
    for job, row in zip(jobs, run.jobs, strict=True):
        sent = len(row.start_s) * job.profile.size_bytes
        assert sent * (1 - 1e-9) <= row.sent_bytes <= sent + job.profile.size_bytes * (1 + 1e-9)
        assert (row.time_s >= job.profile.iteration_time_s * (1 - 1e-9)).all()
        assert (row.communication_s >= job.profile.duty * job.profile.iteration_time_s * (1 - 1e-9)).all()
        np.testing.assert_allclose(row.start_s[1:], row.end_s[:-1])
        for link, part in job.phase_links(0).items():
            loads[link] += part * row.sent_bytes
    np.testing.assert_allclose([link.carried_bytes for link in run.links], loads, rtol=1e-9)
    assert (loads <= np.array([C, C, C / 2]) / 8 * run.end_s * (1 + 1e-9)).all()


def _random_job(rng: np.random.Generator, name: str) -> PeriodicJob:
    period_s = float(rng.uniform(0.05, 0.3))
    cuts = np.sort(rng.uniform(0, period_s, 4))
    turn = float(rng.uniform(0, period_s))  # so that a phase may wrap
    phases = tuple(
        Phase((cuts[2 * k] + turn) % period_s, cuts[2 * k + 1] - cuts[2 * k], float(rng.uniform(1e9, C)))
        for k in range(2)
    )
    links = {int(link): float(rng.uniform(0.2, 1.0)) for link in rng.choice(3, rng.integers(1, 3), False)}
    return PeriodicJob(
        CommunicationProfile(name, period_s, phases), links, begin_s=float(rng.uniform(0, 0.3))
    )


def test_phases_may_use_links_of_their_own() -> None:
    job = profile("a", 1.0, (0.0, 0.2), (0.5, 0.1))
    run = run_periodic_jobs([PeriodicJob(job, [{0: 1.0}, {1: 2.0}])], [C, 2 * C], iterations=4)
    assert run.links[0].carried_bytes == pytest.approx(4 * 0.2 * C / 8)
    assert run.links[1].carried_bytes == pytest.approx(4 * 2.0 * 0.1 * C / 8)
    np.testing.assert_allclose(run.jobs[0].time_s, 1.0)


def test_a_link_too_narrow_for_a_phase_stretches_it() -> None:
    run = run_periodic_jobs([PeriodicJob(profile("a", 1.0, (0.0, 0.2)))], [C / 2], iterations=3)
    np.testing.assert_allclose(run.jobs[0].time_s, 1.2)
    assert run.links[0].oversubscribed_s == pytest.approx(3 * 0.4)


def test_marks_are_the_part_by_which_senders_are_slowed() -> None:
    """Two jobs that could take twice the link: half of its packets, 0.2 s for each of two jobs of 0.1 s."""
    run = pair_at_once(packet_bytes=1000.0)
    packets = 2 * 0.1 * C / 8 / 1000
    assert run.ecn_marks == pytest.approx(packets / 2)
    assert [job.marks[0] for job in run.jobs] == pytest.approx([packets / 4, packets / 4])
    assert pair_at_once(packet_bytes=2000.0).ecn_marks == pytest.approx(packets / 4)


def pair_at_once(packet_bytes: float) -> PeriodicRun:
    jobs = [PeriodicJob(profile(name, 1.0, (0.0, 0.1))) for name in "ab"]
    return run_periodic_jobs(jobs, [C], iterations=1, packet_bytes=packet_bytes)


def test_jobs_that_are_gone_leave_the_links_to_the_others() -> None:
    alike = [profile(name, 1.0, (0.0, 0.4)) for name in "ab"]
    jobs = [PeriodicJob(alike[0], iterations=2), PeriodicJob(alike[1], begin_s=0.1)]
    run = run_periodic_jobs(jobs, [C], iterations=6)
    assert len(run.jobs[0].start_s) == 2
    np.testing.assert_allclose(run.jobs[1].time_s, [1.3, 1.3, 1, 1, 1, 1])
    both = [PeriodicJob(one, iterations=3) for one in alike]
    assert [len(job.start_s) for job in run_periodic_jobs(both, [C]).jobs] == [3, 3]


def test_short_jobs_go_on_until_the_longest_has_its_iterations() -> None:
    jobs = [PeriodicJob(profile("short", 0.1, (0.0, 0.01))), PeriodicJob(profile("long", 1.0, (0.5, 0.1)))]
    run = run_periodic_jobs(jobs, [C], iterations=3)
    assert len(run.jobs[1].start_s) == 3
    assert 20 < len(run.jobs[0].start_s) <= 30


def test_a_time_ends_the_run_and_what_ends_later_is_not_counted() -> None:
    run = run_periodic_jobs([PeriodicJob(profile("a", 1.0, (0.0, 0.4)))], [C], until_s=10.2)
    assert len(run.jobs[0].start_s) == 10
    assert run.end_s == 10.2
    assert run.jobs[0].sent_bytes == pytest.approx((10 * 0.4 + 0.2) * C / 8)


def test_noise_of_computing_has_its_spread_and_a_seed() -> None:
    job = PeriodicJob(profile("a", 1.0, (0.0, 0.4)), noise=0.05)
    runs = [run_periodic_jobs([job], [C], iterations=4000, seed=seed).jobs[0].time_s for seed in (0, 0, 1)]
    assert runs[0].mean() == pytest.approx(1.0, abs=0.002)
    assert runs[0].std() == pytest.approx(0.05 * 0.6, rel=0.05)
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_a_jobs_noise_is_its_own_whoever_runs_beside_it() -> None:
    job = PeriodicJob(profile("a", 1.0, (0.0, 0.4)), {0: 1.0}, noise=0.05)
    other = PeriodicJob(profile("b", 0.7, (0.0, 0.3)), {1: 1.0}, noise=0.1)
    alone = run_periodic_jobs([job], [C, C], iterations=50).jobs[0].time_s
    beside = run_periodic_jobs([job, other], [C, C], iterations=50).jobs[0].time_s
    np.testing.assert_allclose(alone, beside[:50], rtol=1e-9)


def test_a_job_that_drifts_waits_for_its_slot() -> None:
    """Computing takes longer by chance only, so that starts would walk away by 1 % of the period an iteration."""
    loose = PeriodicJob(profile("a", 1.0, (0.0, 0.4)), noise=0.03)
    held = PeriodicJob(loose.profile, noise=0.03, slot_s=1.1, drift_tolerance=0.05)
    run = run_periodic_jobs([held], [C], iterations=200, seed=1).jobs[0]
    off = np.mod(run.start_s, 1.1)
    assert np.minimum(off, 1.1 - off).max() <= 0.05 + 1e-9
    assert run.realignments > 50
    assert run.period_s.mean() == pytest.approx(1.1, rel=0.01)
    assert run.time_s.mean() == pytest.approx(1.0, rel=0.01)
    assert run_periodic_jobs([loose], [C], iterations=200).jobs[0].realignments == 0


def test_a_long_run_has_room_for_all_its_iterations() -> None:
    run = run_periodic_jobs([PeriodicJob(profile("a", 0.01, (0.0, 0.004)))], [C], iterations=20_000)
    assert len(run.jobs[0].start_s) == 20_000
    np.testing.assert_allclose(run.jobs[0].time_s, 0.01, rtol=1e-6)


def test_progress_is_told_while_it_runs() -> None:
    told: list[float] = []
    job = PeriodicJob(profile("a", 0.01, (0.0, 0.004)))
    run_periodic_jobs([job], [C], iterations=20_000, on_progress=told.append)
    assert told
    assert told == sorted(told)
    assert 0 < told[-1] <= 1


@pytest.mark.parametrize(
    ("links", "capacities", "words", "says"),
    [
        ({1: 1.0}, [C], {"iterations": 1}, r"job a: link 1: there are links 0..0"),
        ({0: 0.0}, [C], {"iterations": 1}, r"job a: link 0: coefficient 0"),
        ({0: 1.0}, [0.0], {"iterations": 1}, r"link 0: capacity 0 b/s"),
        ({0: 1.0}, [C], {}, r"give iterations or until_s"),
        ({0: 1.0}, [C], {"iterations": 0}, r"iterations: expected an integer >= 1"),
        ({0: 1.0}, [C], {"until_s": -1.0}, r"until_s -1"),
        ({0: 1.0}, [C], {"iterations": 1, "packet_bytes": 0.0}, r"packet_bytes 0"),
        ({0: 1.0}, [C], {"iterations": 1, "seed": -1}, r"seed"),
    ],
)
def test_what_cannot_be_run_is_one_line(
    links: dict[int, float], capacities: list[float], words: dict[str, float], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        run_periodic_jobs([PeriodicJob(profile("a", 1.0, (0.0, 0.4)), links)], capacities, **words)  # type: ignore[arg-type]


def test_no_job_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        run_periodic_jobs([], [C], iterations=1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"begin_s": -1.0}, "job a: begin -1"),
        ({"noise": float("nan")}, "job a: noise nan"),
        ({"iterations": 0}, "job a: iterations"),
        ({"links": [{0: 1.0}, {0: 1.0}]}, "job a: links of 2 phases"),
    ],
)
def test_what_cannot_be_a_job_is_one_line(words: dict[str, float], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        PeriodicJob(profile("a", 1.0, (0.0, 0.4)), **words)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", [0.4, 1.0])
def test_a_part_that_is_no_unfairness_is_refused(part: float) -> None:
    with pytest.raises(InvalidInput, match="static sharing"):
        static_sharing(part)


def test_learning_for_less_than_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="learning_iterations"):
        mltcp_sharing(learning_iterations=-1)
