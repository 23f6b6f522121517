"""``topoopt.cluster.run``: a trace of jobs on a cluster."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.provenance import digest
from topoopt.base.workers import start_compiling_ahead
from topoopt.clusters import (
    DEFAULT_COURSE_FABRICS,
    ClusterResult,
    ClusterSettings,
    Trace,
    generate_trace,
    read_trace,
    run_cluster,
    run_schedules,
    write_trace,
)
from topoopt.frontends.verbs.cluster.preset import preset_trace
from topoopt.frontends.verbs.cluster.schedule import of_workers, refuse_schedule_words, scheduled_cluster
from topoopt.frontends.verbs.cluster.settings import cluster_settings, generator_settings
from topoopt.frontends.verbs.progress import Progress, silent
from topoopt.jobs import expecting
from topoopt.pricing import DEFAULT_PRICES
from topoopt.schema.files import read_bytes
from topoopt.schema.words import ClusterWords, GeneratorWords, checked_arguments, checked_words, pick

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
        ``topoopt`` (behind patch panels), ``topoopt-ocs``, and shared ones; topoopt, fat-tree, oversub-fat-tree, rail
        and ideal-switch where not given. With ``scheduler``, one network: ``cassini-24`` where not given, or a shared
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
        names = tuple(fabrics or DEFAULT_COURSE_FABRICS)
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
