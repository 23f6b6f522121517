"""``topoopt.traffic``: who sends how much to whom, by pair of servers and by link."""

from typing import Unpack

from topoopt.base.progress import Progress, silent
from topoopt.finder import find_topology
from topoopt.frontends.verbs.job_request import Source, job_request, on_wiring_file, search_options
from topoopt.frontends.verbs.plan import plan_from_file
from topoopt.jobs import in_its_place, job_traffic
from topoopt.plans import Plan
from topoopt.routing import LaidTraffic, lay_traffic
from topoopt.schema.words import TrafficWords, checked_arguments, checked_words
from topoopt.search import job_of


@checked_arguments
def traffic(
    model: Source | Plan, *, on_progress: Progress = silent, **words: Unpack[TrafficWords]
) -> LaidTraffic:
    """Return what one iteration moves: by pair of servers and by link.

    A plan has its own strategy and network. A model is data parallel, with embedding tables round-robin, on
    the network that is found for that; a transformer has the configuration that is the fastest in closed form.

    Parameters
    ----------
    model
        A plan or its file; or whatever :func:`topoopt.plan` takes.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        The flags of ``topoopt traffic`` with underscores.

    Returns
    -------
    LaidTraffic

    Raises
    ------
    InvalidInput
        For an unknown word or name, or a word that would change the job of a plan.

    Examples
    --------
    >>> import topoopt
    >>> moved = topoopt.traffic("dlrm", servers=8, degree=2)
    >>> len(moved.links()), moved.traffic.mp_bytes > 0
    (16, True)
    """
    checked_words(words, TrafficWords)
    planned = plan_from_file(model, words)
    if planned is not None:
        plan = planned[0]
        return lay_traffic(plan.job.name, "the plan's", plan.traffic(), plan.fabric)
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
    return lay_traffic(job.name, job.work.plain_words, demand, fabric)
