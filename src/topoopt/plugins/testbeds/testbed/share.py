"""``topoopt.testbed.share``: training jobs share a link of this machine, under congestion controls of its kernel."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import whole
from topoopt.base.progress import Progress, silent
from topoopt.base.units import parse_bandwidth, parse_bytes
from topoopt.clusters.interleave import CommunicationProfile, equal_jobs, interleave
from topoopt.frontends.verbs import ProfileSource, profile_of_source
from topoopt.plugins.testbeds.congestion.congestion_control import MltcpJob
from topoopt.plugins.testbeds.network import check_machine
from topoopt.plugins.testbeds.sharing.processes import TestbedLink, sharing_job
from topoopt.plugins.testbeds.sharing.share import (
    CONGESTION,
    ShareSettings,
    check_bottleneck,
    check_congestion,
    check_link,
    share_link,
)
from topoopt.plugins.testbeds.sharing.shared_run import TestbedShare
from topoopt.plugins.testbeds.testbed.standing import checked_scale, iteration_time_s, name_of
from topoopt.plugins.testbeds.words import TestbedShareWords
from topoopt.schema.words import amount, checked_arguments, checked_words
from topoopt.simulation import Aggressiveness

USUAL_JOBS = (0.4, 0.4)
USUAL_CONGESTION = ("reno", "mltcp")
MOST_JOBS = 4
MOST_CONNECTIONS = 64
_PERIOD_S = 0.1
ATTACH = ("socket", "namespace")


@checked_arguments
def share(
    jobs: Sequence[ProfileSource | float] = USUAL_JOBS,
    *,
    on_progress: Progress = silent,
    **words: Unpack[TestbedShareWords],
) -> TestbedShare:
    """Let two to four training jobs share a link of this machine under reno, cubic and MLTCP, and time them.

    All is real: processes in network namespaces, which compute (sleep) and send over TCP; a token bucket with a queue
    that drops; the kernel's congestion controls, and MLTCP as a BPF program that is compiled here and unregistered at
    the end, however it comes. Needs root on Linux; MLTCP clang, bpftool and a kernel with BTF, too.

    Parameters
    ----------
    jobs
        Profiles or their files; a number is a job that sends at full rate for that part of its iteration.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        The flags of ``topoopt testbed share`` with underscores: ``congestion``, ``cassini``, ``runs``, ``scale`` …

    Returns
    -------
    TestbedShare

    Raises
    ------
    InvalidInput
        For an unknown name, or if this machine cannot have the testbed or MLTCP, in one line that says why.
    Infeasible
        If a process fails, or the kernel refuses.
    """
    settings = checked_words(words, TestbedShareWords)
    capacity_bps = amount(parse_bandwidth, settings["capacity"], "capacity")
    profiles = _profiles(jobs, capacity_bps)
    asked = _settings(settings, profiles, capacity_bps)
    wanted_s = iteration_time_s(settings)
    scale = checked_scale(settings["scale"])
    link = TestbedLink(capacity_bps, scale, wanted_s / max(one.iteration_time_s for one in profiles))
    sharing = [sharing_job(profile, link) for profile in profiles]
    check_link(capacity_bps, scale, asked.queue_bytes)
    name = name_of(settings)
    check_machine()
    check_congestion(asked.congestion, asked.by_namespace)
    on_progress("measuring this machine", 0, 0)
    check_bottleneck(capacity_bps, scale, asked.queue_bytes)
    return share_link(sharing, link, asked, name, on_progress)


def _profiles(jobs: Sequence[ProfileSource | float], capacity_bps: float) -> tuple[CommunicationProfile, ...]:
    """Return the jobs, each with a name of its own."""
    if not 2 <= len(jobs) <= MOST_JOBS:
        raise InvalidInput(f"jobs: expected 2..{MOST_JOBS} of them, got {len(jobs)}")
    found = [_profile(job, capacity_bps) for job in jobs]
    names = [profile.job for profile in found]
    return tuple(
        replace(one, job=f"{one.job} #{number + 1}") if names.count(one.job) > 1 else one
        for number, one in enumerate(found)
    )


def _profile(job: ProfileSource | float, capacity_bps: float) -> CommunicationProfile:
    if isinstance(job, str):
        with suppress(ValueError):
            job = float(job)
    if not isinstance(job, int | float):
        return profile_of_source(job)
    if not 0 < job < 1:
        raise InvalidInput(f"jobs: a job sends for a part of its iteration, 0 < part < 1, got {job:g}")
    return replace(equal_jobs((job,), _PERIOD_S, capacity_bps).profiles[0], job=f"{job:g}")


def _settings(
    settings: dict[str, Any], profiles: Sequence[CommunicationProfile], capacity_bps: float
) -> ShareSettings:
    names = tuple(dict.fromkeys(settings.get("congestion", USUAL_CONGESTION)))
    if not names:
        raise InvalidInput("congestion: give at least one of reno, cubic, mltcp")
    for name in names:
        check_known("congestion", name, CONGESTION)
    if settings["attach"] not in ATTACH:
        raise InvalidInput(f"attach: expected socket or namespace, got {settings['attach']}")
    connections = whole("connections", settings["connections"], 1)
    if connections > MOST_CONNECTIONS:
        raise InvalidInput(f"connections: must be in 1..{MOST_CONNECTIONS}, got {connections}")
    shifts_s = interleave(profiles, capacity_bps).time_shifts_s if settings["cassini"] else ()
    return ShareSettings(
        names,
        shifts_s,
        whole("runs", settings["runs"], 1),
        whole("iterations", settings["iterations"], 2),
        connections,
        round(amount(parse_bytes, settings["queue"], "queue")),
        MltcpJob(Aggressiveness(settings["slope"], settings["intercept"]), by_job=settings["by_job"]),
        settings["learn"],
        settings["attach"] == "namespace",
    )
