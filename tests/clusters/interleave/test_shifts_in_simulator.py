"""Shifts that are found for links, applied once in the flow simulator, give every job its iterations alone."""

import random

import pytest

from topoopt.clusters.interleave import (
    Candidate,
    CommunicationProfile,
    JudgedPlacement,
    PeriodicJob,
    PeriodicRun,
    Phase,
    SharedLink,
    judge_placement,
    run_periodic_jobs,
)

FAST = 50e9
GRAIN_S = 0.02
"""Circles of 120, 240 and 360 ms have an angle every 20 ms, or finer."""
BASE = 6
"""Grains of the shortest iteration."""

Network = dict[str, list[int]]
"""The links of each job."""


def forest(chance: random.Random) -> Network:
    """Jobs of which two or three meet on a link, without loops."""
    jobs: Network = {"job 0": []}
    for link in range(chance.randint(2, 6)):
        old = chance.choice([job for job in jobs if len(jobs[job]) < 4])
        new = [f"job {len(jobs) + k}" for k in range(chance.randint(1, 2))]
        for job in (old, *new):
            jobs.setdefault(job, []).append(link)
    return jobs


def profile(job: str, chance: random.Random, fine_s: float = 0.0) -> CommunicationProfile:
    """On for at most a third of the shortest iteration, so that three jobs fit into a link whatever their times."""
    period = BASE * chance.randint(1, 3)
    start_s = chance.randrange(period) * GRAIN_S
    duration_s = chance.randint(1, BASE // 3) * GRAIN_S - chance.random() * fine_s
    return CommunicationProfile(job, period * GRAIN_S, (Phase(start_s, duration_s, FAST),))


def placed(network: Network, profiles: dict[str, CommunicationProfile]) -> JudgedPlacement:
    links = {link for used in network.values() for link in used}
    shared = [
        SharedLink(f"link {link}", FAST, tuple(profiles[job] for job in network if link in network[job]))
        for link in sorted(links)
    ]
    return judge_placement(Candidate("random", tuple(shared)))


def simulated(
    network: Network, profiles: dict[str, CommunicationProfile], begins_s: dict[str, float]
) -> PeriodicRun:
    jobs = [PeriodicJob(profiles[job], dict.fromkeys(network[job], 1.0), begins_s[job]) for job in network]
    links = 1 + max(link for used in network.values() for link in used)
    return run_periodic_jobs(jobs, [FAST] * links, iterations=50)


@pytest.mark.parametrize("seed", range(25))
def test_compatible_jobs_of_a_random_network_run_as_if_alone(seed: int) -> None:
    chance = random.Random(seed)
    network = forest(chance)
    profiles = {job: profile(job, chance) for job in network}
    placement = placed(network, profiles)
    assert placement.score == 1.0
    run = simulated(network, profiles, placement.time_shifts_s)
    for job in run.jobs:
        assert job.time_s == pytest.approx(job.alone_s, rel=1e-9)
    assert run.ecn_marks == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("seed", range(25))
def test_without_shifts_jobs_that_send_at_once_hold_each_other_up(seed: int) -> None:
    chance = random.Random(seed)
    network = forest(chance)
    same = {
        job: CommunicationProfile(job, BASE * GRAIN_S, (Phase(0.0, 2 * GRAIN_S, FAST),)) for job in network
    }
    at_once = simulated(network, same, dict.fromkeys(network, 0.0))
    # Max-min fairness on a link of two or three jobs: the slowest takes at least as long again to send.
    assert max(job.time_s.mean() for job in at_once.jobs) >= (BASE + 2) * GRAIN_S * (1 - 1e-9)
    apart = simulated(network, same, placed(network, same).time_shifts_s)
    assert [job.time_s.max() for job in apart.jobs] == pytest.approx([BASE * GRAIN_S] * len(network))


@pytest.mark.parametrize("seed", range(10))
def test_phases_between_angles_cost_at_most_what_falls_between_them(seed: int) -> None:
    chance = random.Random(seed)
    network = forest(chance)
    profiles = {job: profile(job, chance, fine_s=0.9 * GRAIN_S) for job in network}
    placement = placed(network, profiles)
    assert placement.score == 1.0
    run = simulated(network, profiles, placement.time_shifts_s)
    for job in run.jobs:
        assert job.time_s.max() <= job.alone_s + GRAIN_S * len(network[job.job])
