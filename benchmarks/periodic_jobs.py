"""A day of jobs that repeat their profiles on links that they share: 8 jobs, 13 links, every iteration simulated.

As many jobs and links as a cluster of 24 servers has at a time, each on three links, with noise, so that no two
iterations are alike. No other program is known that follows them as fluids.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.clusters.interleave import (
    CommunicationProfile,
    PeriodicJob,
    Phase,
    fair_sharing,
    mltcp_sharing,
    run_periodic_jobs,
)

JOBS, LINKS, LINKS_OF_A_JOB = 8, 13, 3
DAY_S = 86_400.0
RATE_BPS, CAPACITY_BPS = 45e9, 50e9


def figures() -> Iterator[Figure]:
    jobs = _jobs()
    for sharing in (fair_sharing(), mltcp_sharing()):

        def run(until_s: float = DAY_S) -> None:
            run_periodic_jobs(jobs, [CAPACITY_BPS] * LINKS, sharing=sharing, until_s=until_s)  # noqa: B023

        run(10.0)  # compile
        seconds = best_cpu_seconds(run, 1)
        yield Figure(f"a day of {JOBS} jobs on {LINKS} links, {sharing.name}", seconds, "CPU s", 30.0, False)


def _jobs() -> list[PeriodicJob]:
    rng = np.random.default_rng(1)
    jobs = []
    for number in range(JOBS):
        period_s, duty = float(rng.uniform(0.15, 0.6)), float(rng.uniform(0.2, 0.5))
        profile = CommunicationProfile(f"job {number}", period_s, (Phase(0.0, duty * period_s, RATE_BPS),))
        links = {int(link): 1.0 for link in rng.choice(LINKS, LINKS_OF_A_JOB, replace=False)}
        jobs.append(PeriodicJob(profile, links, begin_s=float(rng.uniform(0, period_s)), noise=0.01))
    return jobs
