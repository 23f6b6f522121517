"""Jobs of CASSINI's evaluation on one link: profiles from our own simulations, and what sharing it does to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters import Machine, TraceJob, worker_profile
from topoopt.clusters.interleave import (
    CommunicationProfile,
    Interleaving,
    PeriodicJob,
    PeriodicRun,
    fair_sharing,
    fitting_quantum_s,
    interleave,
    mltcp_sharing,
    run_periodic_jobs,
    static_sharing,
)
from topoopt.jobs import DDP_BUCKET_BYTES, JobSettings

LINK_BPS = 50e9
COSTS = JobSettings(compute="roofline", precision="fp32", bucket_bytes=DDP_BUCKET_BYTES, memory_check="off")
"""Single precision and gradients in buckets, as PyTorch has them if nothing else is said."""
ACCELERATOR, LATENCY_S = "a100", 1e-6
MACHINE = Machine(LINK_BPS, LATENCY_S, ACCELERATOR, COSTS, "flow")
ITERATIONS = 100
DRAWS = 20
"""Of the moments at which jobs begin that nobody shifts."""
HEADROOM = 0.02
"""By which turns are longer than iterations, for jobs that are held to their shifts."""

SHARINGS = {"fair": fair_sharing(), "mltcp": mltcp_sharing(), "static": static_sharing(0.6)}


@dataclass(frozen=True, slots=True, eq=False)
class OneLink:
    """Jobs on one link, in each way of sharing it.

    Attributes
    ----------
    profiles : tuple of CommunicationProfile
    interleaving : Interleaving
        Their score and shifts.
    times_s, communications_s : mapping from way to array, shape (jobs,)
        Mean iteration and communication times. ``fair``, ``mltcp`` and ``static`` (60-40) begin at random;
        ``cassini`` is fair, and shifted.
    ecn_marks : mapping from way to float
        In a second, as estimated.
    """

    profiles: tuple[CommunicationProfile, ...]
    interleaving: Interleaving
    times_s: Mapping[str, Floats]
    communications_s: Mapping[str, Floats]
    ecn_marks: Mapping[str, float]


def profile_of(job: TraceJob, workers: int) -> CommunicationProfile:
    """Return what the busiest worker of a job sends, with links of its own: the job on an ideal switch, in flows."""
    return worker_profile(job, workers, MACHINE)


def at_one_time(profiles: Sequence[CommunicationProfile]) -> list[CommunicationProfile]:
    """Return the jobs with the longest iteration time of them: the others compute for longer, and send the same."""
    longest_s = max(profile.iteration_time_s for profile in profiles)
    return [CommunicationProfile(profile.job, longest_s, profile.phases) for profile in profiles]


def on_one_link(profiles: Sequence[CommunicationProfile], seed: int = 0) -> OneLink:
    """Run jobs on one link in each way."""
    found = interleave(profiles, LINK_BPS, quantum_s=fitting_quantum_s(profiles), seed=seed)
    rng = np.random.default_rng(seed)
    begins = [[rng.uniform(0, profile.iteration_time_s) for profile in profiles] for _ in range(DRAWS)]
    runs = {way: [_run(profiles, begin, way) for begin in begins] for way in SHARINGS}
    runs["cassini"] = [_run(profiles, found.time_shifts_s, "fair", _turns_s(found))]
    return OneLink(
        tuple(profiles),
        found,
        {way: _mean(made, "period_s") for way, made in runs.items()},
        {way: _mean(made, "communication_s") for way, made in runs.items()},
        {way: float(np.mean([(run.ecn_marks / run.end_s) for run in made])) for way, made in runs.items()},
    )


def _turns_s(found: Interleaving) -> Sequence[float]:
    """Return the turns of jobs that are held to their shifts; 0 where they cannot be kept apart.

    Such jobs take longer than their turns, and would wait for most of another one.
    """
    held = found.score >= 1 - HEADROOM
    return [time_s * (1 + HEADROOM) if held else 0.0 for time_s in found.circle.iteration_times_s]


def _run(
    profiles: Sequence[CommunicationProfile],
    begins_s: Sequence[float],
    way: str,
    turns_s: Sequence[float] = (),
) -> PeriodicRun:
    jobs = [
        PeriodicJob(profile, begin_s=begin_s, slot_s=turn_s)
        for profile, begin_s, turn_s in zip(profiles, begins_s, turns_s or [0.0] * len(profiles), strict=True)
    ]
    return run_periodic_jobs(jobs, [LINK_BPS], sharing=SHARINGS[way], iterations=ITERATIONS)


def _mean(runs: Sequence[PeriodicRun], what: str) -> Floats:
    return np.asarray(np.mean([[getattr(job, what).mean() for job in run.jobs] for run in runs], axis=0))
