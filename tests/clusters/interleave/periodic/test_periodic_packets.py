"""Jobs on shared links packet by packet: times of closed forms alone, those of fluids together, links one by one."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    CommunicationProfile,
    PeriodicJob,
    Phase,
    periodic_packet_options,
    run_periodic_jobs,
    run_periodic_packets,
)

GBPS = 1e9
PACKET_BYTES = 8936
RENO = periodic_packet_options("reno", 10 * GBPS)


def job(name: str, period_s: float, *phases: tuple[float, float, float]) -> CommunicationProfile:
    return CommunicationProfile(name, period_s, tuple(Phase(*phase) for phase in phases))


def test_alone_an_iteration_takes_its_time() -> None:
    """Slow start takes some round trips of 20 us, and what a window cut in half leaves idle is less."""
    profile = job("a", 0.02, (0.002, 0.004, 8 * GBPS), (0.01, 0.004, 4 * GBPS))
    run = run_periodic_packets([PeriodicJob(profile)], [10 * GBPS], packets=RENO, iterations=5)
    one = run.jobs[0]
    assert one.time_s == pytest.approx([0.02] * 5, rel=0.03)
    assert (one.time_s >= 0.02).all()
    assert one.communication_s == pytest.approx([0.008] * 5, rel=0.05)
    assert one.send_s == pytest.approx(one.start_s + 0.002)
    assert one.sent_bytes == 5 * round(profile.size_bytes)
    # bytes on the wire: whole packets, and of each of the two lanes one that opens
    packets = sum(-(-round(phase.size_bytes) // PACKET_BYTES) for phase in profile.phases)
    assert run.links[0].carried_bytes == pytest.approx(5 * packets * PACKET_BYTES + 2, rel=1e-3)


def test_a_phase_that_wraps_begins_the_next_iteration_later() -> None:
    wrapped = job("a", 0.01, (0.002, 0.002, 5 * GBPS), (0.009, 0.002, 5 * GBPS))
    run = run_periodic_packets([PeriodicJob(wrapped)], [10 * GBPS], packets=RENO, iterations=3)
    fluid = run_periodic_jobs([PeriodicJob(wrapped)], [10 * GBPS], iterations=3)
    assert run.jobs[0].send_s[0] == pytest.approx(fluid.jobs[0].send_s[0])
    assert np.diff(run.jobs[0].send_s) == pytest.approx(np.diff(fluid.jobs[0].send_s), rel=0.05)


def test_links_one_after_the_other_are_shared_by_those_who_cross_them() -> None:
    """Three jobs, two links: the first crosses both, as in CASSINI's chains; the others meet only it."""
    phases = (0.0, 0.008, 10 * GBPS)
    jobs = [
        PeriodicJob(job("both", 0.02, phases), {0: 1.0, 1: 1.0}),
        PeriodicJob(job("left", 0.02, phases), {0: 1.0}, begin_s=0.01),
        PeriodicJob(job("right", 0.02, phases), {1: 1.0}, begin_s=0.01),
    ]
    apart = run_periodic_packets(jobs, [10 * GBPS] * 2, packets=RENO, iterations=4)
    fluid = run_periodic_jobs(jobs, [10 * GBPS] * 2, iterations=4)
    for one, other in zip(apart.jobs, fluid.jobs, strict=True):
        assert one.time_s == pytest.approx(other.time_s, rel=0.02)
    carried = [link.carried_bytes for link in apart.links]
    assert carried == pytest.approx([8 * 10 * GBPS * 0.008 / 8] * 2, rel=0.01)


def test_cassinis_shifts_hold_packet_by_packet() -> None:
    """Jobs of 40 and 60 ms that send for 10: rotated they never meet (CASSINI, section 3)."""
    short, long = job("short", 0.04, (0.0, 0.01, 10 * GBPS)), job("long", 0.06, (0.0, 0.01, 10 * GBPS))
    together = [PeriodicJob(short), PeriodicJob(long)]
    shifted = [PeriodicJob(short, begin_s=0.01), PeriodicJob(long)]
    times = [
        run_periodic_packets(jobs, [10 * GBPS], packets=RENO, iterations=4).jobs[1].time_s
        for jobs in (together, shifted)
    ]
    assert times[1] == pytest.approx([0.06] * 4, rel=0.01)
    assert times[0].max() > 0.068


def test_noise_is_of_computing_and_of_the_seed() -> None:
    profile = job("a", 0.02, (0.0, 0.004, 10 * GBPS))
    noisy = [PeriodicJob(profile, noise=0.1)]
    first, again, other = (
        run_periodic_packets(noisy, [10 * GBPS], packets=RENO, iterations=20, seed=seed).jobs[0]
        for seed in (1, 1, 2)
    )
    assert first.time_s.tolist() == again.time_s.tolist() != other.time_s.tolist()
    computing_s = first.time_s - first.communication_s
    assert 0.05 < computing_s.std() / 0.016 < 0.16


def test_what_only_fluids_do_is_refused() -> None:
    profile = job("a", 0.02, (0.0, 0.004, 10 * GBPS))
    with pytest.raises(InvalidInput, match=r"job a: link 0: coefficient 0\.5: packets have 1 only"):
        run_periodic_packets([PeriodicJob(profile, {0: 0.5})], [GBPS], packets=RENO, iterations=1)
    with pytest.raises(InvalidInput, match=r"job a: link 3: there are links 0\.\.0; give its capacity"):
        run_periodic_packets([PeriodicJob(profile, {3: 1.0})], [GBPS], packets=RENO, iterations=1)
    with pytest.raises(InvalidInput, match="job a: slots: only fluids wait for them"):
        run_periodic_packets([PeriodicJob(profile, slot_s=0.02)], [GBPS], packets=RENO, iterations=1)
    with pytest.raises(InvalidInput, match="link 0: capacity 0 b/s: expected a finite bandwidth"):
        run_periodic_packets([PeriodicJob(profile)], [0.0], packets=RENO, iterations=1)
