"""``topoopt.plan``, ``compare`` and ``traffic``: plan of a job, comparison of fabrics, and traffic of the job."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput
from topoopt.base.workers import start_compiling_ahead
from topoopt.catalog import NETWORKS, ClusterSpec, check_networks
from topoopt.finder import FabricRequest, FabricShape, build_fabric, find_topology
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
from topoopt.jobs import Described, Job, JobRequest, in_its_place, is_plan, is_serving_job, job_traffic
from topoopt.plans import Comparison, Plan, read_plan
from topoopt.pricing import Iteration, OwnershipTerms, in_samples
from topoopt.routing import LaidTraffic, conflicts_on, lay_traffic
from topoopt.schema.words import JobWords, PlanWords, TrafficWords, checked_arguments, checked_words, pick
from topoopt.search import (
    Draft,
    SearchOptions,
    checked_fabrics,
    checked_simulators,
    compare_fabrics,
    job_of,
    make_plan,
)


@checked_arguments
def traffic(
    model: Source | Plan, *, on_progress: Progress = silent, **words: Unpack[TrafficWords]
) -> LaidTraffic:
    """Return the traffic of one iteration: by pair of servers and by link.

    A plan has its own strategy and network. A model is data parallel, with embedding tables round-robin, on
    the network found for it; a transformer has the configuration that is fastest in closed form.

    Parameters
    ----------
    model
        A plan or its file; or any model that :func:`topoopt.plan` accepts.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt traffic`` with underscores.

    Returns
    -------
    LaidTraffic

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an option that would change the job of a plan.

    Examples
    --------
    >>> import topoopt
    >>> moved = topoopt.traffic("dlrm", servers=8, degree=2)
    >>> len(moved.links()), moved.traffic.mp_bytes > 0
    (16, True)
    """
    checked_words(words, TrafficWords)
    on_fabric = words.pop("conflicts", None)
    planned = plan_from_file(model, words)
    if planned is not None:
        plan = planned[0]
        laid = lay_traffic(plan.job.name, "the plan's", plan.traffic(), plan.fabric)
        return _with_conflicts(laid, plan.job.cluster, on_fabric, 0)
    options, request = search_options(job_request(model, words), words)  # type: ignore[arg-type]
    request = on_wiring_file(request, options)
    job = job_of(request, on_progress)
    cluster = job.cluster
    demand = job_traffic(job, job.work.plain_strategy(cluster.servers))
    with in_its_place(request):
        fabric = find_topology(
            demand,
            degree=cluster.degree,
            bandwidth_bps=cluster.link_bandwidth_bps,
            latency_s=cluster.link_latency_s,
            links=cluster.links,
            rules=options.rules,
            seed=options.seed,
        )
    laid = lay_traffic(job.name, job.work.plain_words, demand, fabric)
    return _with_conflicts(laid, cluster, on_fabric, options.seed)


def _with_conflicts(laid: LaidTraffic, cluster: ClusterSpec, name: str | None, seed: int) -> LaidTraffic:
    """Return the traffic with the conflicts of its connections on a fabric, if one is named."""
    if name is None:
        return laid
    check_networks("conflicts", (name,), "simulate")
    if not NETWORKS[name].switched:
        raise InvalidInput(
            f"conflicts: {name} has no packet switches, whose hash they come from; name one that has"
        )
    groups = [group.members for group in laid.traffic.allreduce]
    request = FabricRequest(
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        groups,
        latency_s=cluster.link_latency_s,
        server_bandwidth_bps=cluster.degree * cluster.link_bandwidth_bps,
        seed=seed,
        shape=FabricShape(switches=True),
    )
    return replace(laid, conflicts=conflicts_on(laid.traffic, build_fabric(name, request), seed=seed))


@checked_arguments
def compare(
    model: Source | Plan,
    *,
    fabrics: Sequence[str] | None = None,
    simulator: str | None = None,
    simulators: Sequence[str] | None = None,
    collective: str | None = None,
    on_progress: Progress = silent,
    **words: Unpack[PlanWords],
) -> Comparison:
    """Compare networks for one job, each with a parallelization strategy searched for it.

    Parameters
    ----------
    model
        A plan or its file; or any model that :func:`topoopt.plan` accepts, which is planned first.
    fabrics
        Names of fabrics; by default those of :func:`topoopt.plan`. The plan's own is always the first row.
    simulator
        ``analytic`` (default), ``flow`` or ``packet``.
    simulators
        Two or more instead: every fabric by each, and their differences.
    collective
        Algorithm of AllReduces, see :func:`topoopt.simulate`; by default the plan's. With ``auto``, every fabric
        uses rings where these are faster.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        Options of :func:`topoopt.plan`; for a plan, those of the search alone.

    Returns
    -------
    Comparison
        Answer with ``to_frame()`` and ``to_json()``.

    Raises
    ------
    InvalidInput
        For an unknown option or name, or options that exclude each other.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=50)
    >>> [row.fabric for row in topoopt.compare(plan, fabrics=["torus", "expander"], baseline_budget=10).fabrics]
    ['topoopt', 'torus', 'expander']
    """
    checked_words(words, PlanWords)
    levels = checked_simulators(simulator, simulators)
    names = checked_fabrics(fabrics, levels)
    priced = pricing(words)
    plan, options = plan_from_file(model, words) or plan_without_baselines(model, words, on_progress)  # type: ignore[arg-type]
    return compare_fabrics(
        plan,
        options,
        priced,
        fabrics=names,
        simulators=levels,
        collective=collective,
        on_progress=on_progress,
    )


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
    """Optimize parallelization strategy, topology and routing together, and compare with other networks.

    For a transformer, the best configurations (tensor, pipeline, data, context and expert parallel degrees,
    micro-batch, recomputation …) are each wired and simulated.

    Parameters
    ----------
    model
        A model's name (see :func:`topoopt.models`), or a file: the ``config.json`` of a transformer, a program of
        ``torch.export``, a model in ONNX, a job (of training, or one that serves a model), operators, a traffic
        matrix, a recording, a profile. Or a model in Python: an ``OperatorGraph``, the ``Traffic`` of a matrix, a
        ``TransformerModel``.
    fabrics
        Names of baselines; by default the five of the paper, and rails.
    collective
        Algorithm of AllReduces in the plan's simulation, see :func:`topoopt.simulate`; by default ``auto``
        (``stepped`` with the presets ``paper`` and ``released``): an algorithm for each message where that is a
        percent faster than rings.
    on_progress
        Progress callback: stage, items done, and total.
    on_draft
        Called during the search with each answer faster than all before it.
    **words
        The flags of ``topoopt plan`` with underscores: ``servers``, ``degree``, ``bandwidth`` (``"100Gbps"`` or bit/s),
        ``seed`` …

    Returns
    -------
    Plan

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid value.
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
    """Return the requested plan, and the options of its search."""
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
    """Return a plan, given or from a file, and its search options with overrides; None for other sources.

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
