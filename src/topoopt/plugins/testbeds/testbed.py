"""``topoopt.testbed``: a plan on real Linux; jobs are trained on it or share a link, until it is taken down."""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import whole
from topoopt.base.units import parse_bandwidth, parse_bytes, parse_time
from topoopt.catalog import ClusterSpec
from topoopt.clusters.interleave import CommunicationProfile, equal_jobs, interleave
from topoopt.frontends.verbs import PlanSource, ProfileSource, plan_and_name, profile_of_source
from topoopt.plans import Plan
from topoopt.plugins.testbeds.congestion_control import MltcpJob
from topoopt.plugins.testbeds.emulated_fabrics import (
    EMULATED,
    PAPER_CLUSTER,
    emulated,
    paper_fabric,
    plan_on_links,
)
from topoopt.plugins.testbeds.network import capable_scale, check_machine, check_name, check_speed
from topoopt.plugins.testbeds.sharing.processes import TestbedLink, sharing_job
from topoopt.plugins.testbeds.sharing.share import (
    CONGESTION,
    ShareSettings,
    bottleneck_scale,
    check_congestion,
    check_link,
    share_link,
)
from topoopt.plugins.testbeds.sharing.shared_run import TestbedShare
from topoopt.plugins.testbeds.standing_testbeds import TestbedsAnswer, listed, put_up, take_down
from topoopt.plugins.testbeds.training.fabric_run import MEASURED_BESIDE, REFERENCE
from topoopt.plugins.testbeds.training.job import PLAN, WORKLOADS, job_of_plan, paper_plan
from topoopt.plugins.testbeds.training.ranks import check_processes, check_ready
from topoopt.plugins.testbeds.training.testbed_run import (
    PlannedCut,
    TestbedRun,
    TrainingSettings,
    testbed_scale,
    train_on_fabrics,
)
from topoopt.plugins.testbeds.words import TestbedRunWords, TestbedShareWords, TestbedWords
from topoopt.routing import Fabric
from topoopt.schema.files import target_of
from topoopt.schema.words import amount, checked_arguments, checked_words
from topoopt.simulation import Aggressiveness
from topoopt.studies.failure import FailedLink, predict

__all__ = ("down", "run", "share", "status", "up")

LARGEST_SCALE = 1e6
LONGEST_ITERATION_S = 600.0
USUAL_FABRICS = ("topoopt", "ideal-switch", "switch")
USUAL_WORKLOAD = "dlrm"
NEED_SEVERAL_PATHS = ("spread-detours",)
"""Repairs that send a pair's bytes on several paths; on a testbed each pair has one connection, and so one path."""
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
    """Let two to four training jobs share a link of this host under reno, cubic and MLTCP, and time them.

    Everything is real: processes in network namespaces, which compute (sleep) and send over TCP; a token bucket with a
    queue that drops; the kernel's congestion controls, and MLTCP as a BPF program that is compiled here and
    unregistered at the end in all cases. Needs root on Linux; MLTCP clang, bpftool and a kernel with BTF, too.

    Parameters
    ----------
    jobs
        Profiles or their files; a number is a job that sends at full rate for that part of its iteration.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt testbed share`` with underscores: ``congestion``, ``cassini``, ``runs``, ``scale`` …

    Returns
    -------
    TestbedShare

    Raises
    ------
    InvalidInput
        For an unknown name, or if this machine cannot have the testbed or MLTCP, in one line with the reason.
    Infeasible
        If a process fails, or the kernel refuses.
    """
    settings = checked_words(words, TestbedShareWords)
    capacity_bps = amount(parse_bandwidth, settings["capacity"], "capacity")
    if not 2 <= len(jobs) <= MOST_JOBS:
        raise InvalidInput(f"jobs: expected 2..{MOST_JOBS} of them, got {len(jobs)}")
    found = [_profile(job, capacity_bps) for job in jobs]
    names = [profile.job for profile in found]
    profiles = tuple(
        replace(one, job=f"{one.job} #{number + 1}") if names.count(one.job) > 1 else one
        for number, one in enumerate(found)
    )
    asked = _settings(settings, profiles, capacity_bps)
    wanted_s = iteration_time_s(settings)
    scale = checked_scale(settings["scale"])
    check_link(capacity_bps, scale, asked.queue_bytes)
    name = name_of(settings)
    check_machine()
    check_congestion(asked.congestion, asked.by_namespace)
    on_progress("measuring this machine", 0, 0)
    scale = bottleneck_scale(capacity_bps, scale, asked.queue_bytes, "scale" in words)
    link = TestbedLink(capacity_bps, scale, wanted_s / max(one.iteration_time_s for one in profiles))
    return share_link([sharing_job(one, link) for one in profiles], link, asked, name, on_progress)


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


@checked_arguments
def run(
    plan: PlanSource | None = None, *, on_progress: Progress = silent, **words: Unpack[TestbedRunWords]
) -> TestbedRun:
    """Train on a plan's network on this host, and on switches: real PyTorch, compared with the simulators.

    All is measured. A server is a network namespace with a PyTorch process, a link a veth pair of scaled bandwidth.
    Computing is a timed sleep; every message is sent. A small real model is trained beside it, and its gradients are
    compared with those of one process. Needs root on Linux and PyTorch.

    Parameters
    ----------
    plan
        A plan or its file; where not given, a job of the paper's testbed on its 12 servers with 4 links each.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        ``workload``, ``fabrics``, ``scale``, ``iteration_time``, ``iterations``, ``warm_up``, ``cut``, ``simulators``,
        ``counters``, ``name``, as ``topoopt testbed run`` has them.

    Returns
    -------
    TestbedRun

    Raises
    ------
    InvalidInput
        For an unknown name, or if this machine cannot have the testbed, in one line with the reason.
    Infeasible
        If the job cannot be run so, or a process fails.
    """
    settings = checked_words(words, TestbedRunWords)
    names = _names("fabrics", settings.get("fabrics", USUAL_FABRICS), EMULATED)
    simulators = _names("simulators", settings.get("simulators", MEASURED_BESIDE), MEASURED_BESIDE)
    slower, wanted_s = checked_scale(settings["scale"]), iteration_time_s(settings)
    counts = whole("iterations", settings["iterations"], 1), whole("warm_up", settings["warm_up"], 0)
    counters, name = _counters(settings), name_of(settings)
    cut = _cut(settings["cut"], counts[0]) if "cut" in settings else None
    found, workload = _planned(plan, settings.get("workload"), on_progress)
    cluster, job = found.job.cluster, job_of_plan(found, workload)
    own = plan_on_links(cluster, found.fabric)
    fabrics = [own if one == "topoopt" else emulated(one, cluster, found.fabric) for one in names]
    for fabric in fabrics:
        check_speed(fabric.layout, slower)
    check_ready()
    check_processes(cluster.servers)
    slower = max(capable_scale(fabric.layout, slower, "scale" in words) for fabric in fabrics)
    scale = testbed_scale(job, own, cluster, slower, wanted_s)
    beside = tuple(dict.fromkeys((REFERENCE, *simulators)))
    training = TrainingSettings(scale, *counts, beside, counters is not None)
    planned_cut = _repaired(*cut, found) if cut is not None else None
    found_run = train_on_fabrics(job, fabrics, cluster, name, training, planned_cut, on_progress)
    if counters is not None:
        found_run.fabrics[0].write_counters(counters)
    return found_run


def _planned(plan: PlanSource | None, workload: str | None, on_progress: Progress) -> tuple[Plan, str]:
    """Return the plan, and which of its workloads is run."""
    check_known("workload", workload or PLAN, WORKLOADS)
    if plan is not None:
        return plan_and_name(plan)[0], workload or PLAN
    if workload == PLAN:
        raise InvalidInput("workload: plan is the job of a plan; give one, or another workload")
    check_ready()  # planning takes time
    on_progress("planning the paper's job", 0, 0)
    model = USUAL_WORKLOAD if workload in (None, "allreduce") else workload
    return paper_plan(str(model)), workload if workload == "allreduce" else PLAN


def _counters(settings: Mapping[str, Any]) -> str | None:
    """Return the file of counters, which can be written."""
    if "counters" not in settings:
        return None
    if "cut" in settings:
        raise InvalidInput(
            "counters: are of iterations that are alike, and a cut makes one different; leave one out"
        )
    target_of(settings["counters"])
    return str(settings["counters"])


def _cut(text: str, iterations: int) -> tuple[int, int, int]:
    """Return the servers and the iteration of a cut such as 0-1@2."""
    link, at, iteration = text.partition("@")
    ends = link.split("-")
    if not at or len(ends) != 2 or not all(part.strip().isdecimal() for part in (*ends, iteration)):
        raise InvalidInput(f'cut: expected two servers and an iteration such as 0-1@1, got "{text}"')
    if not 0 < int(iteration) < iterations - 1:
        raise InvalidInput(
            f"cut: iteration {iteration} must have a measured one before and after it; "
            f"allowed is 1..{iterations - 2}; raise iterations"
        )
    return int(ends[0]), int(ends[1]), int(iteration)


def _repaired(src: int, dst: int, iteration: int, plan: Plan) -> PlannedCut:
    chosen = predict(plan, FailedLink(src, dst), simulator=REFERENCE, without_ways=NEED_SEVERAL_PATHS).chosen
    assert chosen.repair is not None, "a chosen repair is possible"
    repaired = plan_on_links(chosen.repair.job.cluster, chosen.repair.fabric, chosen.repair.wiring)
    return PlannedCut(src, dst, iteration, chosen.way.name, repaired)


def _names(word: str, given: Any, known: Any) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(given.split(",") if isinstance(given, str) else given))
    if not names:
        raise InvalidInput(f"{word}: give at least one of {', '.join(known)}")
    for name in names:
        check_known(word, name, known)
    return names


@checked_arguments
def up(
    plan: PlanSource | None = None, *, on_progress: Progress = silent, **words: Unpack[TestbedWords]
) -> TestbedsAnswer:
    """Create a plan's network on this host: a namespace per server, a veth pair per link, and its routes.

    It stays until ``topoopt.testbed.down``. Needs root on Linux.

    Parameters
    ----------
    plan
        A plan or its file; the paper's testbed of 12 servers with 4 links each where not given.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        ``fabric``: ``topoopt``, ``ideal-switch``, ``fat-tree`` or ``switch``; ``scale``: how many times slower links
        are; ``name``.

    Returns
    -------
    TestbedsAnswer

    Raises
    ------
    InvalidInput
        If this machine cannot have it, in one line with the reason.
    """
    settings = checked_words(words, TestbedWords)
    scale = checked_scale(settings["scale"])
    cluster, fabric = cluster_and_fabric(plan)
    name = name_of(settings)
    return put_up(emulated(settings["fabric"], cluster, fabric), name, scale, "scale" in words, on_progress)


@checked_arguments
def status() -> TestbedsAnswer:
    """List the testbeds on this host: those kept, those in use, and leftovers of a killed run.

    Returns
    -------
    TestbedsAnswer

    Examples
    --------
    >>> import topoopt
    >>> topoopt.testbed.status().done
    'status'
    """
    return listed()


@checked_arguments
def down(name: str | None = None, *, every: bool = False) -> TestbedsAnswer:
    """Remove a testbed: its namespaces with all links and routes, and the processes inside.

    Parameters
    ----------
    name
        Name of a testbed, or of a run with all its testbeds, even if in use.
    every
        All of them, except those in use by a run.

    Returns
    -------
    TestbedsAnswer

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    if (name is None) != every:
        raise InvalidInput("down: give the name of a testbed, or every=True for all; status lists them")
    return take_down(name)


def cluster_and_fabric(plan: PlanSource | None) -> tuple[ClusterSpec, Fabric]:
    """Return the emulated cluster and fabric: a plan's, or the paper's."""
    if plan is None:
        return PAPER_CLUSTER, paper_fabric()
    found, _ = plan_and_name(plan)
    return found.job.cluster, found.fabric


def name_of(settings: Mapping[str, Any]) -> str:
    """Return the name of a testbed that was given, or one that none has."""
    name = str(settings.get("name") or f"t{secrets.token_hex(4)}")
    check_name(name)
    return name


def checked_scale(scale: float) -> float:
    """Refuse a scale that makes no sense."""
    if not 1 <= scale <= LARGEST_SCALE:
        raise InvalidInput(f"scale: must be in 1..{LARGEST_SCALE:g}, got {scale:g}")
    return scale


def iteration_time_s(settings: Mapping[str, Any]) -> float:
    """Return the target duration of an iteration."""
    given = settings["iteration_time"]
    seconds = amount(parse_time, given, "iteration_time")
    if not 0 < seconds <= LONGEST_ITERATION_S:
        raise InvalidInput(f"iteration_time: must be in 0 s < time <= {LONGEST_ITERATION_S:g} s, got {given}")
    return seconds
