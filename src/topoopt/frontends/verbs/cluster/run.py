"""``topoopt.cluster.run``: a trace of jobs on a cluster."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.progress import Progress, silent
from topoopt.base.provenance import digest
from topoopt.base.units import parse_time
from topoopt.base.workers import start_compiling_ahead
from topoopt.catalog import compared_by
from topoopt.clusters import (
    CASSINI_TRACES,
    MIXED,
    CassiniTraceSettings,
    ClusterResult,
    ClusterSettings,
    MixedTraceSettings,
    Trace,
    cassini_trace_for,
    generate_trace,
    mixed_trace,
    read_trace,
    run_cluster,
    run_schedules,
    write_trace,
)
from topoopt.frontends.verbs.cluster.settings import (
    cluster_settings,
    generator_settings,
    of_workers,
    refuse_schedule_words,
    scheduled_cluster,
)
from topoopt.jobs import expecting
from topoopt.pricing import DEFAULT_PRICES
from topoopt.schema.files import read_bytes
from topoopt.schema.words import ClusterWords, GeneratorWords, amount, checked_arguments, checked_words, pick

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
    """Run a trace of jobs on a cluster, and say how long iterations, jobs and waiting take on each fabric.

    Parameters
    ----------
    trace
        A trace or its file; none where ``generate=True`` or ``trace_preset`` draws one.
    fabrics
        Names of ``topoopt.catalog.networks_of("cluster")``; those of ``compared_by("cluster")`` by default.
        With ``scheduler``, one network: ``cassini-24`` where not given, or a shared
        one.
    prices
        A price list's name, or a file that is laid over it, by which fabrics are priced and fat-trees dimensioned.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        The flags of ``topoopt cluster run`` with underscores; ``save_trace`` is a file for the jobs that were drawn.

    Returns
    -------
    ClusterResult

    Raises
    ------
    InvalidInput
        For an unknown word or name, or a value that is not allowed.

    Examples
    --------
    >>> import topoopt
    >>> result = topoopt.cluster.run(generate=True, jobs=2, at_once=True, servers=32, degree=4, fabrics=["topoopt"],
    ...                              mix="vgg16=1", mean_duration="1s")
    >>> [run.fabric for run in result.fabrics], len(result.fabrics[0].jobs)
    (['topoopt'], 2)
    """
    complete = checked_words(words, ClusterWords)
    settings = cluster_settings(complete, prices)
    scheduled = scheduled_cluster(complete, settings, fabrics) if "scheduler" in words else None
    if scheduled is None:
        refuse_schedule_words(complete)
        start_compiling_ahead()
    jobs = _trace(trace, complete, of_workers(settings, scheduled.network) if scheduled else settings)
    inputs = (
        {}
        if trace is None or isinstance(trace, Trace)
        else {Path(trace).name: digest(read_bytes(Path(trace)))}
    )
    if scheduled:
        result = run_schedules(jobs, scheduled, inputs=inputs, on_progress=on_progress)
    else:
        names = tuple(fabrics or compared_by("cluster"))
        result = run_cluster(jobs, settings, names, inputs=inputs, on_progress=on_progress)
    if "save_trace" in words:
        write_trace(words["save_trace"], jobs)
    return result


def _trace(trace: TraceSource | None, words: Mapping[str, Any], settings: ClusterSettings) -> Trace:
    """Return the trace that is given, or draw one."""
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
    if drawn:
        raise InvalidInput(f"{drawn[0]}: is for generate; the jobs of {name} are what they are")
    with expecting(name, "trace"):
        return trace if isinstance(trace, Trace) else read_trace(name)


def preset_trace(words: Mapping[str, Any], settings: ClusterSettings) -> Trace:
    """Return the trace of a preset.

    Raises
    ------
    InvalidInput
        For an unknown preset, and words that it does not take.
    """
    kind = words["trace_preset"]
    check_known("trace_preset", kind, (MIXED, *CASSINI_TRACES))
    said = {"load": words.get("load"), "horizon_s": _horizon_s(words)}
    given = {name: value for name, value in said.items() if value is not None}
    for word in FREE:
        if words.get(word) not in (None, False) and word not in USED.get(kind, ()):
            raise InvalidInput(f"{word}: the trace {kind} says it; leave one of them out")
    if kind == MIXED:
        return mixed_trace(_mixed(words, settings.seed, given), settings.logical.servers)
    return cassini_trace_for(CassiniTraceSettings(kind, seed=settings.seed, **given), settings)


def _mixed(words: Mapping[str, Any], seed: int, given: Mapping[str, float]) -> MixedTraceSettings:
    jobs = words.get("jobs")
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs: expected an integer >= 1, got {jobs}")
    if jobs is not None and "horizon_s" in given:
        raise InvalidInput("horizon: with jobs, jobs come until there are so many; leave one of them out")
    return MixedTraceSettings(jobs=jobs or 0, seed=seed, **given)


def _horizon_s(words: Mapping[str, Any]) -> float | None:
    return amount(parse_time, words["horizon"], "horizon") if "horizon" in words else None
