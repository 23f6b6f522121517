"""The noun JobShape: what decides how a job is planned."""

from dataclasses import dataclass

from topoopt.clusters.trace import TraceJob


@dataclass(frozen=True, slots=True)
class JobShape:
    """What decides how a job is planned; jobs of one shape share a plan.

    Attributes
    ----------
    batch_per_accelerator : int
        Samples, or sequences of a transformer; 0 for the usual batch.
    training : str
        Words of a transformer's training, as :func:`topoopt.jobs.text_of_training` writes them.
    serving : str
        Words of a model that is served, empty for training.
    """

    model: str
    servers: int
    batch_per_accelerator: int = 0
    training: str = ""
    serving: str = ""


def shape_of(job: TraceJob, size: int) -> JobShape:
    """Return the shape of a job of the trace on so many servers."""
    return JobShape(job.model, size, job.batch_per_accelerator, job.training, job.serving)
