"""JobShape: the properties that determine the plan of a job."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from topoopt.catalog import ClusterSpec
from topoopt.clusters.settings import Planning
from topoopt.clusters.trace import TraceJob
from topoopt.jobs import Job, JobRequest, JobSettings, make_job, training_of_text
from topoopt.search import is_transformer, job_of
from topoopt.workloads import load_model


@dataclass(frozen=True, slots=True)
class JobShape:
    """Properties that determine the plan of a job; jobs with equal shapes share a plan.

    Attributes
    ----------
    batch_per_accelerator : int
        Samples, or sequences of a transformer; 0 for the default batch.
    training : str
        Training options of a transformer, as written by :func:`topoopt.jobs.text_of_training`.
    serving : str
        Options of a served model, empty for training.
    """

    model: str
    servers: int
    batch_per_accelerator: int = 0
    training: str = ""
    serving: str = ""


def shape_of(job: TraceJob, size: int) -> JobShape:
    """Return the shape of a job of the trace on ``size`` servers."""
    return JobShape(job.model, size, job.batch_per_accelerator, job.training, job.serving)


KEPT = 256
"""Jobs that are kept in memory: ranking the configurations of a transformer and laying them out takes seconds."""


@lru_cache(KEPT)
def shape_job(shape: JobShape, planning: Planning) -> Job:
    """Return the job on servers of the cluster; with few servers, ports that none of them can use stay dark.

    A transformer has the layouts that ``topoopt plan`` gives it on as many servers.

    Raises
    ------
    Infeasible
        If no configuration of a transformer fits in memory.
    """
    cluster = replace(planning.cluster, servers=shape.servers)
    if is_transformer(JobRequest(model=shape.model)):
        return transformer_job(shape, cluster, planning.scale_up_bps)
    return operators_job(shape, cluster, planning.costs)


def operators_job(shape: JobShape, cluster: ClusterSpec, costs: JobSettings) -> Job:
    """Return the job of a model of operators, with its own batch unless the shape has one."""
    graph = load_model(shape.model, servers=shape.servers)
    if shape.batch_per_accelerator:
        graph = replace(graph, batch_per_accelerator=shape.batch_per_accelerator)
    return make_job(graph, cluster, costs)


def transformer_job(shape: JobShape, cluster: ClusterSpec, scale_up_bps: float, **more: Any) -> Job:
    """Return the job of a transformer.

    Parameters
    ----------
    scale_up_bps
        Bandwidth of an accelerator to the others of its server; 0 for that of the catalogue.
    **more
        Further training options.
    """
    fields = asdict(cluster)
    if scale_up_bps:
        fields["intra_server_bandwidth_bps"] = scale_up_bps
    else:
        del fields["intra_server_bandwidth_bps"]
    training = {**training_of_text(shape.training, "training"), **more}
    if shape.batch_per_accelerator:
        training["global_batch"] = shape.batch_per_accelerator * cluster.total_accelerators
    if (
        cluster.degree == 1
    ):  # no direct network of one port, on which others than the first could be the fastest
        training.setdefault("candidates", 1)
    return job_of(JobRequest(model=shape.model, cluster=fields, training=training))
