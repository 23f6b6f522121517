"""A trace on a cluster, on several fabrics."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from topoopt.base.errors import check_known
from topoopt.base.provenance import Provenance
from topoopt.clusters.course import run_course
from topoopt.clusters.course_fabrics import COURSE_FABRICS, DEFAULT_COURSE_FABRICS, buildable_fabrics
from topoopt.clusters.job_plans import Progress, silent
from topoopt.clusters.result import ClusterResult, FabricRun
from topoopt.clusters.settings import ClusterSettings
from topoopt.clusters.trace import Trace, check_fits, check_several
from topoopt.clusters.trace_model import check_models
from topoopt.plans import standings


def run_cluster(
    trace: Trace,
    settings: ClusterSettings,
    fabrics: tuple[str, ...] = DEFAULT_COURSE_FABRICS,
    *,
    inputs: Mapping[str, str] | None = None,
    on_progress: Progress = silent,
) -> ClusterResult:
    """Run a trace on each of the fabrics.

    Parameters
    ----------
    fabrics : names in :data:`COURSE_FABRICS`
        What cannot be built where something else can is left out, and the result says why.
    inputs : digests by input, for the provenance

    Raises
    ------
    InvalidInput
        For unknown names, a job larger than the cluster, or where no fabric can be built.
    Infeasible
        If no optical switch is large enough.
    """
    for name in fabrics:
        check_known("fabric", name, COURSE_FABRICS)
    check_several(trace)
    check_models(trace)
    check_fits(trace, settings.logical.servers)
    built, skipped = buildable_fabrics(fabrics, settings)
    runs = [run_course(trace, fabric, settings, on_progress).run for fabric in built]
    cluster = settings.cluster
    return ClusterResult(
        trace.name,
        settings.seed,
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        Provenance(settings.seed, dict(inputs or {})),
        _standing(runs),
        settings.described(),
        skipped,
    )


def _standing(runs: Sequence[FabricRun]) -> tuple[FabricRun, ...]:
    """Return the fabrics with who is on the front of price and mean iteration time, and who beats the others."""
    found = standings(
        runs, lambda run: run.cost_usd, lambda run: run.iteration_time_s.mean, lambda run: run.label
    )
    return tuple(replace(run, **asdict(its)) for run, its in zip(runs, found, strict=True))
