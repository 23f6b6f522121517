"""``topoopt.cluster.run``: a trace of jobs on a cluster."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Unpack

from topoopt.base.answers import Progress, digest, fields_of, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import parse_bandwidth, parse_delay, parse_time
from topoopt.base.workers import start_compiling_ahead
from topoopt.catalog import ClusterSpec, check_networks, compared_by
from topoopt.clusters import (
    CASSINI_TRACES,
    MIXED,
    SCHEDULERS,
    CassiniTraceSettings,
    ClusterResult,
    ClusterSettings,
    GeneratorSettings,
    Machine,
    MixedTraceSettings,
    PanelSettings,
    ScheduledCluster,
    ScheduleSettings,
    SharingOptions,
    Trace,
    TraceJob,
    WorkerNetwork,
    cassini_24,
    cassini_trace_for,
    generate_trace,
    mixed_trace,
    parse_mix,
    public_kind,
    read_public_trace,
    read_trace,
    run_cluster,
    run_schedules,
    shared_fabric,
    write_trace,
)
from topoopt.clusters.interleave import SHARINGS
from topoopt.finder import FabricRequest
from topoopt.frontends.verbs.job_request import cluster_fields, search_options
from topoopt.jobs import JobRequest, JobSettings, expecting
from topoopt.pricing import DEFAULT_PRICES
from topoopt.schema.files import read_bytes
from topoopt.schema.words import (
    ClusterWords,
    GeneratorWords,
    ScheduleWords,
    amount,
    checked_arguments,
    checked_words,
    defaults,
    pick,
)
from topoopt.search import is_transformer, transformer_cluster

__all__ = ("run",)

AUTHORS_MACHINE: Mapping[str, Any] = MappingProxyType(
    {"servers": 432, "degree": 8, "bandwidth": "100Gbps", "accelerators_per_server": 4, "accelerator": "a100"}
)
"""The servers of the TopoOpt authors' shared cluster."""
PRESET = "cassini-24"
FIXED = ("servers", "degree", "bandwidth", "latency", "links")
"""Options of the hardware that the preset sets."""
WITHOUT_MEANING = (
    *("accelerators_per_server", "logical_servers", "queue", "placement", "look_ahead", "move_time"),
    *("hands", "ocs", "paths"),
)
"""Words that a scheduler of single workers leaves nothing to decide."""
PARTS: Mapping[str, str] = MappingProxyType(
    {"cassini": "cassini", **{name: "sharing" for name in SHARINGS if name != "fair"}}
)
"""Suffixes of a scheduler's name, joined by +, and the equivalent option."""
DRAWN: Mapping[str, Any] = MappingProxyType(
    {
        "jobs": 0,
        "load": 0.8,
        "horizon": "24h",
        "mix": "default",
        "servers_per_job": 16,
        "durations": "lognormal",
        "mean_duration": "1h",
    }
)
"""Default of a generated trace: a day of jobs."""
USED = {"poisson": ("load", "horizon"), MIXED: ("load", "horizon", "jobs")}
"""Words that a preset takes; the others take none."""
FREE = ("jobs", "at_once", "load", "horizon", "mix", "servers_per_job", "durations", "mean_duration")
TraceSource = Trace | str | os.PathLike[str]
"""A trace, or the file of one."""


@checked_arguments
def run(
    trace: TraceSource | None = None,
    *,
    fabrics: Sequence[str] | None = None,
    prices: str = DEFAULT_PRICES,
    on_progress: Progress = silent,
    **words: Unpack[ClusterWords],
) -> ClusterResult:
    """Simulate a trace of jobs on a cluster, and report iteration, completion and waiting times on each network.

    Parameters
    ----------
    trace
        A trace or its file; none if ``generate=True`` or ``trace_preset`` draws one.
    fabrics
        Names of ``topoopt.catalog.networks_of("cluster")``; those of ``compared_by("cluster")`` by default. With
        ``scheduler``, one network: ``cassini-24`` by default, or a shared one.
    prices
        Name of a price list, or a file that overrides it, for prices of fabrics and dimensions of fat-trees.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt cluster run`` with underscores; ``save_trace`` is a file for the drawn jobs.

    Returns
    -------
    ClusterResult

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid value.

    Examples
    --------
    >>> import topoopt
    >>> result = topoopt.cluster.run(generate=True, jobs=2, at_once=True, servers=32, degree=4, fabrics=["topoopt"],
    ...                              mix="vgg16=1", mean_duration="1s")
    >>> [run.fabric for run in result.fabrics], len(result.fabrics[0].jobs)
    (['topoopt'], 2)
    """
    given = checked_words(words, ClusterWords)
    complete = {**AUTHORS_MACHINE, **given}
    settings = cluster_settings(complete, prices)
    scheduled = scheduled_cluster(given, settings, fabrics) if "scheduler" in words else None
    if scheduled is None:
        refuse_schedule_words(given)
        start_compiling_ahead()
    jobs = _trace(trace, complete, of_workers(settings, scheduled.network) if scheduled else settings)
    if not scheduled and "trace_preset" not in given and any(map(_is_transformer, jobs.jobs)):
        settings = cluster_settings({**_reference_machine(given), **given}, prices)
        if isinstance(trace, str | os.PathLike) and public_kind(trace):
            jobs = _trace(trace, complete, settings)  # servers of other sizes
    inputs = (
        {}
        if trace is None or isinstance(trace, Trace)
        else {Path(trace).name: digest(read_bytes(Path(trace)))}
    )
    if scheduled:
        result = run_schedules(jobs, scheduled, inputs=inputs, on_progress=on_progress)
    else:
        names = compared_by("cluster") if fabrics is None else tuple(fabrics)
        result = run_cluster(jobs, settings, names, inputs=inputs, on_progress=on_progress)
    if "save_trace" in words:
        write_trace(words["save_trace"], jobs)
    return result


def _is_transformer(job: TraceJob) -> bool:
    return bool(job.serving) or is_transformer(JobRequest(model=job.model))


def _reference_machine(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the accelerator's reference system, updated with given ones."""
    servers = {"servers": AUTHORS_MACHINE["servers"]}
    machine = transformer_cluster(JobRequest(cluster=cluster_fields({**servers, **words})))
    return {
        **servers,
        "degree": machine.degree,
        "bandwidth": machine.link_bandwidth_bps,
        **fields_of(machine, "accelerators_per_server", "accelerator"),
    }


def _trace(trace: TraceSource | None, words: Mapping[str, Any], settings: ClusterSettings) -> Trace:
    drawn = [word for word, value in pick(words, GeneratorWords).items() if value is not False]
    if trace is None:
        if "trace_preset" in words:
            return preset_trace(words, settings)
        if not words["generate"]:
            raise InvalidInput("TRACE.csv: give the file of a trace, generate to draw one, or trace_preset")
        return generate_trace(generator_settings(words, settings.seed), settings.logical.servers)
    name = "the trace" if isinstance(trace, Trace) else os.fspath(trace)
    if words["generate"]:
        raise InvalidInput(f"generate: {name} is a trace already; give a file or generate, not both")
    kind = "" if isinstance(trace, Trace) else public_kind(trace)
    if kind and set(drawn) <= {"mix", "save_trace"}:
        if "mix" not in words:
            raise InvalidInput(
                f"{name}: is a trace of {kind}, which does not say what its jobs train; say by mix which models are "
                "drawn for them, such as mix=released or mix=dlrm=40,bert=60"
            )
        per_server = settings.cluster.accelerators_per_server
        mix = GeneratorSettings(jobs=1, mix=parse_mix(words["mix"])).mix
        return read_public_trace(name, mix, per_server, settings.seed)
    if drawn:
        if not kind and not isinstance(trace, Trace):
            _read(name)  # what is wrong with the file comes first
        raise InvalidInput(f"{drawn[0]}: is for generate; the jobs of {name} are what they are")
    return trace if isinstance(trace, Trace) else _read(name)


def _read(name: str) -> Trace:
    with expecting(name, "trace"):
        return read_trace(name)


def preset_trace(words: Mapping[str, Any], settings: ClusterSettings) -> Trace:
    """Return the trace of a preset.

    Raises
    ------
    InvalidInput
        For an unknown preset, and options that it does not accept.
    """
    kind = words["trace_preset"]
    check_known("trace_preset", kind, (MIXED, *CASSINI_TRACES))
    horizon_s = amount(parse_time, words["horizon"], "horizon") if "horizon" in words else None
    said = {"load": words.get("load"), "horizon_s": horizon_s}
    given = {name: value for name, value in said.items() if value is not None}
    for word in FREE:
        if words.get(word) not in (None, False) and word not in USED.get(kind, ()):
            raise InvalidInput(f"{word}: the trace {kind} says it; leave one of them out")
    if kind == MIXED:
        jobs = _number_of_jobs(words)
        mixed = MixedTraceSettings(jobs=jobs or 0, seed=settings.seed, **given)
        return mixed_trace(mixed, settings.logical.servers)
    return cassini_trace_for(CassiniTraceSettings(kind, seed=settings.seed, **given), settings)


def _number_of_jobs(words: Mapping[str, Any]) -> int | None:
    """Return the number of jobs to draw, which excludes a horizon."""
    jobs: int | None = words.get("jobs")
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs: expected an integer >= 1, got {jobs}")
    if jobs is not None and "horizon" in words:
        raise InvalidInput("horizon: with jobs, jobs come until there are so many; leave one of them out")
    return jobs


def cluster_settings(words: Mapping[str, Any], prices: str) -> ClusterSettings:
    """Return the settings of the cluster.

    Raises
    ------
    InvalidInput
        For unknown names and numbers out of range.
    """
    options, request = search_options(JobRequest(), words)
    inside_bps = 0.0
    if "intra_server_bandwidth" in words:
        inside_bps = amount(parse_bandwidth, words["intra_server_bandwidth"], "intra_server_bandwidth")
    cluster = ClusterSpec(
        servers=words["servers"],
        degree=words["degree"],
        link_bandwidth_bps=amount(parse_bandwidth, words["bandwidth"], "bandwidth"),
        accelerators_per_server=words["accelerators_per_server"],
        accelerator=words["accelerator"],
        link_latency_s=amount(parse_delay, words["latency"], "latency"),
        links=words["links"],
        **({"intra_server_bandwidth_bps": inside_bps} if inside_bps else {}),
    )
    move_s = amount(parse_time, words["move_time"], "move_time")
    return ClusterSettings(
        cluster,
        words["logical_servers"],
        words["queue"],
        words["placement"],
        words["weighting"],
        PanelSettings(words["look_ahead"], move_s, words["hands"]),
        words["ocs"],
        options,
        JobSettings(**request.settings),
        words["simulator"],
        prices,
        sharing=SharingOptions(paths=words["paths"]),
        scale_up_bps=inside_bps,
    )


def generator_settings(words: Mapping[str, Any], seed: int) -> GeneratorSettings:
    """Return the settings of the generated trace.

    Raises
    ------
    InvalidInput
        For numbers out of range, and options that exclude each other.
    """
    jobs, load = words.get("jobs"), words.get("load")
    if load is not None and not 0 < load < float("inf"):
        raise InvalidInput(f"load: expected a number > 0, such as 0.8, got {load:g}")
    if words["at_once"]:
        if jobs is None:
            raise InvalidInput("at_once: say with jobs how many come at once")
        for word in ("load", "horizon"):
            if word in words:
                raise InvalidInput(f"{word}: has no meaning with at_once; leave one of them out")
    _number_of_jobs(words)
    drawn = {**DRAWN, **words}
    return GeneratorSettings(
        jobs=drawn["jobs"],
        load=0.0 if words["at_once"] else drawn["load"],
        horizon_s=amount(parse_time, drawn["horizon"], "horizon"),
        mix=parse_mix(drawn["mix"], "mix"),
        servers_per_job=drawn["servers_per_job"],
        durations=drawn["durations"],
        mean_duration_s=amount(parse_time, drawn["mean_duration"], "mean_duration"),
        seed=seed,
    )


def scheduled_cluster(
    words: Mapping[str, Any], settings: ClusterSettings, fabrics: Sequence[str] | None
) -> ScheduledCluster:
    """Return network, hardware and schedulers from the options.

    Raises
    ------
    InvalidInput
        For unknown names, numbers out of range, and options that do not apply to a scheduler.
    """
    if not words["scheduler"]:
        raise InvalidInput(f"scheduler: name one of {', '.join(SCHEDULERS)}")
    for word in WITHOUT_MEANING:
        _refuse_changed(words, word, "has no meaning with a scheduler of single workers; leave it out")
    network = _network(words, settings, fabrics)
    machine = Machine(
        network.server_bandwidth_bps,
        settings.cluster.link_latency_s,
        settings.cluster.accelerator,
        settings.costs,
        settings.simulator,
    )
    schedules = tuple(_schedule(name, words, settings) for name in words["scheduler"])
    if not any(schedule.cassini for schedule in schedules):
        _refuse_changed(words, "merging", "is for CASSINI; ask for it, such as scheduler=themis+cassini")
    if len(set(schedules)) < len(schedules):
        raise InvalidInput("scheduler: one stands twice; name each once")
    return ScheduledCluster(network, machine, schedules)


def of_workers(settings: ClusterSettings, network: WorkerNetwork) -> ClusterSettings:
    """Return the settings of a cluster whose servers are the workers of a network: traces are drawn for it."""
    cluster = replace(
        settings.cluster,
        servers=network.servers,
        degree=1,
        link_bandwidth_bps=network.server_bandwidth_bps,
        accelerators_per_server=1,
    )
    return replace(settings, cluster=cluster, logical_servers=1)


def refuse_schedule_words(words: Mapping[str, Any]) -> None:
    """Refuse scheduler options without a scheduler."""
    for word in ScheduleWords.__annotations__:
        _refuse_changed(words, word, "is for a scheduler; give one, such as scheduler=themis")


def _schedule(name: str, words: Mapping[str, Any], settings: ClusterSettings) -> ScheduleSettings:
    scheduler, *joined = name.split("+")
    check_known("scheduler", scheduler, SCHEDULERS)
    given = {"cassini": words["cassini"], "sharing": words["sharing"]}
    if SCHEDULERS[scheduler].dedicated and len(words["scheduler"]) > 1:
        given["cassini"] = False  # beside others that it is meant for
    for part in joined:
        check_known(f"scheduler: {name}", part, PARTS)
        given[PARTS[part]] = True if part == "cassini" else part
    return ScheduleSettings(
        scheduler,
        **given,
        merging=words["merging"],
        epoch_s=amount(parse_time, words["epoch"], "epoch"),
        restart_s=amount(parse_time, words["restart_time"], "restart_time"),
        jitter=words["jitter"],
        noise_scale=words["noise_scale"],
        weighting=settings.weighting,
        seed=settings.seed,
    )


def _network(
    words: Mapping[str, Any], settings: ClusterSettings, fabrics: Sequence[str] | None
) -> WorkerNetwork:
    names = tuple(fabrics or (PRESET,))
    if len(names) > 1:
        raise InvalidInput(f"fabrics: with a scheduler one network at a time, got {len(names)}")
    if names[0] == PRESET:
        for word in FIXED:
            _refuse_changed(
                words, word, f"the network {PRESET} has its own; leave it out, or give fabrics=[...]"
            )
        return cassini_24()
    check_networks("fabric", names[:1], "plan", PRESET)
    cluster = settings.cluster
    request = FabricRequest(
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        seed=settings.seed,
    )
    fabric = shared_fabric(names[0], request)
    return WorkerNetwork(fabric, f"{cluster.servers} servers, every switch a node")


def _refuse_changed(words: Mapping[str, Any], word: str, why: str) -> None:
    """Refuse an option that differs from its default, which the command line always passes."""
    if word in words and words[word] != defaults(ClusterWords).get(word):
        raise InvalidInput(f"{word}: {why}")
