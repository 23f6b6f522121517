"""From a request to a job: operators and traffic as they are, a transformer with the layouts worth wiring."""

from collections.abc import Callable

from topoopt.errors import InvalidInput
from topoopt.job import Job
from topoopt.job_file import JobRequest, requested_job
from topoopt.search.training_request import is_transformer, training_request


def job_of(
    request: JobRequest, on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None
) -> Job:
    """Return the job that a request means.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    """
    if not is_transformer(request):
        return requested_job(request)
    on_progress("ranking configurations", 0, 0)
    asked = training_request(request)
    raise InvalidInput(f"{asked.model.name}: the search over configurations is not there yet")
