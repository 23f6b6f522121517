"""What a job of a trace trains: a model that is known, and words about its training that go with it."""

from topoopt.base.errors import InvalidInput
from topoopt.clusters.served.words import serving_of_text
from topoopt.clusters.trace import LEAST_WHOLE, Trace, TraceJob
from topoopt.jobs import JobRequest, training_of_text
from topoopt.search import is_transformer


def check_model(job: TraceJob) -> None:
    """Refuse a job that cannot be planned whatever the cluster.

    Raises
    ------
    InvalidInput
        For an unknown model, words of a training that a model of operators does not have or that are misspelled, a
        batch that is said twice, and a transformer that changes its size while its batch is not said for each
        accelerator; for a served model that is no transformer, or whose words are wrong.
    """
    if job.serving:
        if not is_transformer(JobRequest(model=job.model)):
            raise InvalidInput(f"serving: is for transformers, and {job.model} is a graph of operators")
        serving_of_text(job.serving, "serving")
        return
    if not is_transformer(JobRequest(model=job.model)):
        if job.training:
            raise InvalidInput(f"training: is for transformers, and {job.model} is a graph of operators")
        return
    words = training_of_text(job.training, "training")
    if "accelerators" in words:
        raise InvalidInput("training: accelerators: a job has those of its servers; leave it out")
    if "global_batch" in words and job.batch_per_accelerator:
        raise InvalidInput(
            "training: global_batch: the batch is in batch_per_accelerator, too; leave one of them out"
        )
    if (job.min_servers or job.max_servers) and not job.batch_per_accelerator:
        raise InvalidInput(
            f"batch_per_accelerator: {job.model} may change its size, and an iteration is then worth as many sequences "
            "as it has accelerators; say how many each has"
        )
    if job.servers < LEAST_WHOLE and not job.batch_per_accelerator:
        raise InvalidInput(f"batch_per_accelerator: {job.model} on one worker; say how many sequences it has")


def check_models(trace: Trace) -> None:
    """Refuse a trace with a job that cannot be planned whatever the cluster.

    Raises
    ------
    InvalidInput
        As :func:`check_model`, with the trace and the job.
    """
    if all(job.serving for job in trace.jobs):
        raise InvalidInput(
            f"{trace.name}: all its jobs are served models; a cluster of these alone is what topoopt serving plans"
        )
    for job in trace.jobs:
        try:
            check_model(job)
        except InvalidInput as error:
            raise InvalidInput(f"{trace.name}: job {job.job}: {error}") from None
