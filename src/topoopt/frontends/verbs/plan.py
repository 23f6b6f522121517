"""``topoopt.plan``: from a model and a cluster to a plan."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.base.workers import start_compiling_ahead
from topoopt.frontends.verbs.job_request import (
    Source,
    job_request,
    on_wiring_file,
    origin_of,
    refuse_search_words,
    search_options,
    training_words,
    wiring_digest,
)
from topoopt.frontends.verbs.pricing import ownership_terms, pricing
from topoopt.frontends.verbs.serving import planned_service
from topoopt.jobs import Described, Job, JobRequest, in_its_place, is_plan, is_serving_job
from topoopt.plans import Plan, read_plan
from topoopt.pricing import Iteration, OwnershipTerms, in_samples
from topoopt.schema.words import JobWords, PlanWords, checked_arguments, checked_words, pick
from topoopt.search import Draft, SearchOptions, job_of, make_plan


@checked_arguments
def plan(
    model: Source,
    *,
    fabrics: Sequence[str] | None = None,
    collective: str | None = None,
    on_progress: Progress = silent,
    on_draft: Callable[[Draft], None] | None = None,
    **words: Unpack[PlanWords],
) -> Plan:
    """Find strategy, topology and routing together, and say what they are worth.

    Of a transformer the best configurations (tensor, pipeline, data, context and expert parallel degrees,
    micro-batch, recomputation …) are each wired and simulated.

    Parameters
    ----------
    model
        A model's name (see :func:`topoopt.models`), or a file: the ``config.json`` of a transformer, a program of
        ``torch.export``, a model in ONNX, a job (of training, or one that serves a model), operators, a traffic matrix,
        what a run has sent, a profile. Or a
        model that is described in Python: an ``OperatorGraph``, the ``Traffic`` of a matrix, a ``TransformerModel``.
    fabrics
        Names of baselines; the five of the paper, and rails, where not given.
    collective
        How AllReduces run in the plan's simulation; see :func:`topoopt.simulate`. ``auto`` where not given (``stepped``
        with the presets ``paper`` and ``released``): an algorithm for each message where that is a percent faster
        than rings.
    on_progress
        Called with the stage, what is done and what there is.
    on_draft
        Called with each answer that is faster than all before it, while the search goes on.
    **words
        The flags of ``topoopt plan`` with underscores: ``servers``, ``degree``, ``bandwidth`` (``"100Gbps"`` or bit/s),
        ``seed`` …

    Returns
    -------
    Plan

    Raises
    ------
    InvalidInput
        For an unknown word or name, or a value that is not allowed.
    Infeasible
        If no strategy fits in memory.

    Examples
    --------
    >>> import topoopt
    >>> found = topoopt.plan("dlrm", servers=8, degree=2, bandwidth="100Gbps", fabrics=(), budget=100)
    >>> found.wiring.family, found.strides
    ('strides', (1,))
    """
    checked_words(words, PlanWords)
    if isinstance(model, str | os.PathLike) and is_serving_job(os.fspath(model)):
        if collective is not None:
            raise InvalidInput("collective: is of a training; a service has no AllReduces of gradients")
        return planned_service(os.fspath(model), words, fabrics, on_progress)
    return planned(model, words, fabrics, on_progress, collective, on_draft)[0]


def planned(
    model: Source,
    words: Mapping[str, Any],
    fabrics: Sequence[str] | None,
    on_progress: Progress,
    collective: str | None = None,
    on_draft: Callable[[Draft], None] | None = None,
) -> tuple[Plan, SearchOptions]:
    """Return a plan of what was asked for, and the options of its search."""
    said = {} if collective is None else {"collective": collective}
    priced = pricing(words)
    options, request = search_options(job_request(model, words).overlaid(JobRequest(settings=said)), words)
    request = on_wiring_file(request, options)
    start_compiling_ahead()
    refuse_search_words(request, words)
    with in_its_place(request):
        job = job_of(request, on_progress)
        wiring = wiring_digest(options, job.cluster)
        terms = _terms(words, job)
        plan = make_plan(
            job,
            options,
            fabrics=None if fabrics is None else tuple(fabrics),
            prices=priced,
            inputs={**request.input_digests(), **wiring},
            on_progress=on_progress,
            on_draft=on_draft,
        )
    return replace(plan, origin=origin_of(request, job), terms=terms), options


def plan_from_file(source: Source | Plan, words: Mapping[str, Any]) -> tuple[Plan, SearchOptions] | None:
    """Return a plan, or that of a plan file, and its search options with the words above them; None for all else.

    Raises
    ------
    InvalidInput
        If the file is no whole plan, or a word would change the job that was planned.
    """
    if isinstance(source, Plan):
        plan, path = source, "plan"
    elif isinstance(source, JobRequest | Described) or not is_plan(os.fspath(source)):
        return None
    else:
        path = os.fspath(source)
        plan = read_plan(path)
    fixed = {**pick(words, JobWords), **training_words(words)}
    if fixed:
        raise InvalidInput(
            f"{next(iter(fixed))}: {path} is a plan, whose job is fixed; plan again with another value"
        )
    for word in ("wiring", "wirings"):
        if word in words:
            raise InvalidInput(
                f"{word}: {path} is a plan, whose cables are fixed; plan again with another value"
            )
    options, _ = search_options(JobRequest(search=plan.options, files=(path,)), words)
    return replace(plan, terms=_terms(words, plan.job, plan.terms)), options


def _terms(words: Mapping[str, Any], job: Job, before: OwnershipTerms | None = None) -> OwnershipTerms:
    """Return the terms of ownership; a run that the job cannot have is refused before anything is searched."""
    machine = job.cluster
    terms = ownership_terms(words, machine.accelerator, machine.accelerators_per_server, before)
    in_samples(terms.run, Iteration(1.0, job.global_batch, job.work.tokens()))
    return terms


def plan_without_baselines(
    source: Source, words: Mapping[str, Any], on_progress: Progress
) -> tuple[Plan, SearchOptions]:
    """Return a plan of the job, without baselines."""
    plan, options = planned(source, words, (), on_progress)
    if plan.search.stopped_because == "interrupted":
        raise KeyboardInterrupt  # half a search compares with nothing
    return plan, options
