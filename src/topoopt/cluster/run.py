"""A trace on a cluster, on several fabrics."""

from collections.abc import Mapping

from topoopt.cluster.course import run_course
from topoopt.cluster.course_fabrics import COURSE_FABRICS, DEFAULT_COURSE_FABRICS, course_fabrics
from topoopt.cluster.job_plans import Progress, silent
from topoopt.cluster.result import ClusterResult, FabricRun
from topoopt.cluster.settings import ClusterSettings
from topoopt.cluster.trace import Trace, check_fits, check_several
from topoopt.errors import InvalidInput, check_known
from topoopt.provenance import Provenance


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
        One that cannot be built where several are asked for is left out, and the result says why.
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
    check_fits(trace, settings.logical.servers)
    runs: list[FabricRun] = []
    skipped: list[tuple[str, str]] = []
    for name in fabrics:
        try:
            built = course_fabrics(name, settings)
        except InvalidInput as error:
            if len(fabrics) == 1:
                raise
            skipped.append((name, str(error)))
            continue
        runs += [run_course(trace, fabric, settings, on_progress).run for fabric in built]
    if not runs:
        raise InvalidInput(f"fabrics: none can be built: {skipped[0][1]}")
    cluster = settings.cluster
    return ClusterResult(
        trace.name,
        settings.seed,
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        Provenance(settings.seed, dict(inputs or {})),
        tuple(runs),
        settings.described(),
        tuple(skipped),
    )
