"""A plan for a verb that takes either a plan file or a model: read, or made now."""

from typing import TYPE_CHECKING

from topoopt.cli.job_arguments import JobArguments, given_flags, read_request
from topoopt.cli.search_arguments import FinderArguments, SearchArguments, search_options
from topoopt.cli.training_arguments import TrainingArguments
from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.cli.progress import Progress
    from topoopt.job import Job, JobRequest
    from topoopt.plan import Plan
    from topoopt.search import SearchOptions


def plan_from_file(
    job: JobArguments, training: TrainingArguments, finder: FinderArguments, search: SearchArguments
) -> "tuple[Plan, SearchOptions] | None":
    """Return the plan and its search options with the flags above them; None where the source is no plan file.

    Raises
    ------
    InvalidInput
        If the file is no whole plan, or a flag would change the job that was planned.
    """
    from topoopt.job import JobRequest, is_plan

    if not is_plan(job.source):
        return None
    from topoopt.plan import read_plan

    plan = read_plan(job.source)
    flags = given_flags(job) + given_flags(training)
    if flags:
        raise InvalidInput(
            f"{flags[0]}: {job.source} is a plan, whose job is fixed; plan again with {flags[0]}"
        )
    options, _ = search_options(JobRequest(search=plan.options, files=(job.source,)), finder, search)
    return plan, options


def plan_now(
    job: JobArguments,
    training: TrainingArguments,
    finder: FinderArguments,
    search: SearchArguments,
    prices: str | None,
    report: "Progress",
) -> "tuple[Plan, SearchOptions]":
    """Return a plan of the job, without baselines."""
    from topoopt.cost import suited_prices
    from topoopt.search import make_plan, start_compiling_ahead

    options, request = search_options(read_request(job, training), finder, search)
    start_compiling_ahead()
    asked = asked_job(request, search, report)
    plan = make_plan(
        asked,
        options,
        fabrics=(),
        prices=suited_prices(asked.cluster.link_bandwidth_bps) if prices is None else prices,
        inputs=request.input_digests(),
        on_progress=report,
    )
    if plan.search.stopped_because == "interrupted":
        raise KeyboardInterrupt  # half a search compares with nothing
    return plan, options


def asked_job(request: "JobRequest", search: SearchArguments, report: "Progress") -> "Job":
    """Return the job that a request means; for a transformer the configurations are ranked here.

    Raises
    ------
    InvalidInput
        If the request is wrong, or has a flag about the search over operators and is for a transformer.
    """
    from topoopt.search import is_transformer, job_of

    if is_transformer(request):
        flags = given_flags(search)
        if flags:
            raise InvalidInput(
                f"{flags[0]}: is for searches over operators; for a transformer say --candidates"
            )
    return job_of(request, report)
