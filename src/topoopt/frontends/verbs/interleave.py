"""``topoopt.phases`` and ``topoopt.interleave``: when a job sends on a link, and when each of several starts."""

from collections.abc import Sequence
from typing import Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth, format_time, parse_bandwidth, parse_time
from topoopt.clusters.interleave import CommunicationProfile, Interleaving, JobPhases
from topoopt.clusters.interleave import interleave as interleaved
from topoopt.frontends.verbs.profile_source import (
    HowProfiled,
    ProfileSource,
    phases_of_source,
    profiles_of_sources,
)
from topoopt.schema.words import (
    Amount,
    InterleaveWords,
    PhasesWords,
    amount,
    checked_arguments,
    checked_words,
)


@checked_arguments
def interleave(
    jobs: Sequence[ProfileSource], capacity: Amount, **words: Unpack[InterleaveWords]
) -> Interleaving:
    """Find time shifts for jobs that share a link, so that they send at different times (CASSINI).

    Parameters
    ----------
    jobs
        Profiles, plans or simulations, or files of jobs, plans, task graphs and counters: for sources other than
        profiles, the busiest link is used, see :func:`topoopt.phases`.
    capacity
        Capacity of the link, such as ``"50Gbps"`` or bits per second.
    **words
        The flags of ``topoopt interleave`` with underscores: ``step``, ``solver``, ``quantum``, ``seed``.

    Returns
    -------
    Interleaving

    Raises
    ------
    InvalidInput
        For a file that is no job, a invalid capacity or step, jobs whose circle would be too long, a solver
        that cannot handle this many jobs.

    Examples
    --------
    >>> import topoopt
    >>> from topoopt.clusters.interleave import CommunicationProfile, Phase
    >>> vgg16 = CommunicationProfile("vgg16", 0.255, (Phase(0.141, 0.114, 45e9),))
    >>> answer = topoopt.interleave([vgg16, vgg16], "50Gbps")
    >>> answer.score, answer.rotations_deg
    (1.0, (0.0, 180.0))
    """
    settings = checked_words(words, InterleaveWords)
    if not jobs:
        raise InvalidInput("jobs: none given; give the files of those that share the link")
    profiles = profiles_of_sources(jobs)
    return interleaved(
        profiles,
        _capacity_bps(capacity, profiles),
        step_deg=settings["step"],
        solver=settings["solver"],
        quantum_s=amount(parse_time, settings["quantum"], "quantum"),
        seed=settings["seed"],
    )


def _capacity_bps(capacity: Amount, profiles: Sequence[CommunicationProfile]) -> float:
    """Return bits per second; a mistake in it names the jobs, too, and each job alone must fit on the link."""
    try:
        capacity_bps = amount(parse_bandwidth, capacity, "capacity")
    except InvalidInput as error:
        names = " and ".join(dict.fromkeys(profile.job for profile in profiles))
        raise InvalidInput(f"{error}; give that of the link of job {names}, such as 50Gbps") from None
    for profile in profiles:
        average_bps = 8 * profile.size_bytes / profile.iteration_time_s
        if average_bps > capacity_bps:
            raise InvalidInput(
                f"capacity {format_bandwidth(capacity_bps)}: job {profile.job} sends "
                f"{format_bandwidth(average_bps)} on average, so its iterations of "
                f"{format_time(profile.iteration_time_s)} do not fit; give the bandwidth of the link that it uses"
            )
    return capacity_bps


@checked_arguments
def phases(job: ProfileSource, **words: Unpack[PhasesWords]) -> JobPhases:
    """Extract the communication phases of a job on a link, from a simulation or from measured counters.

    Parameters
    ----------
    job
        A plan or its file, a FlexNet task graph or Chakra's traces, which are simulated; a simulation; a CSV of
        counters or rates over several iterations, of which the period is found; a profile or its job file.
    **words
        The flags of ``topoopt phases`` with underscores: ``simulator``, ``link``, ``steady_state``,
        ``iteration_time``, ``tolerance``, ``name``.

    Returns
    -------
    JobPhases

    Raises
    ------
    InvalidInput
        For an unknown option or name, another kind of file, a missing link, and counters without a period.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)
    >>> answer = topoopt.phases(plan, simulator="analytic")
    >>> answer.profile.iteration_time_s == plan.iteration_time_s
    True
    """
    how = checked_words(words, PhasesWords)
    if not how.get("name", "a name"):
        raise InvalidInput(
            'name: expected what the job is to be called, got ""; leave it out for its own name'
        )
    if "iteration_time" in how:
        how["iteration_time_s"] = amount(parse_time, how.pop("iteration_time"), "iteration_time")
    return phases_of_source(job, HowProfiled(**how))
