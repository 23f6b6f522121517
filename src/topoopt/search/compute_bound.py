"""What an iteration takes at least, before anything is searched or wired: to know which networks are worth a plan.

For operators it is a bound: all servers together compute for so long, however operators are split. For a transformer it
is an estimate: the fastest configuration in closed form, on one switch of as much bandwidth a server. What is simulated
takes longer; nobody has proved by how much less it might.
"""

from collections.abc import Iterator

import numpy as np

from topoopt.jobs import Job, JobRequest, operators_of
from topoopt.search.proposals.problem_tables import CHANNEL_DIMS, candidate_splits
from topoopt.search.training_job import ranked_configurations
from topoopt.search.training_request import training_request
from topoopt.transformers import divisors
from topoopt.workloads import OperatorSplit


def computing_bound_s(job: Job) -> float:
    """Return seconds in which no strategy of operators computes an iteration, whatever the network.

    The parts of an operator take so long on their servers together, by the split that takes least; all servers
    together have that much to do. Embedding tables are left out, which a server may look up on several accelerators
    at a time. 0 for a job that has no operators.

    Examples
    --------
    >>> from topoopt.catalog import ClusterSpec
    >>> from topoopt.jobs import JobSettings, make_job
    >>> from topoopt.workloads import load_model
    >>> job = make_job(load_model("vgg16", servers=4), ClusterSpec(4, 2, 100e9), JobSettings())
    >>> round(computing_bound_s(job), 3)
    0.098
    """
    if job.work.kind != "operators":
        return 0.0
    servers = job.cluster.servers
    return sum(min(rows) for rows in _server_seconds(job, servers) if rows) / servers


def _server_seconds(job: Job, servers: int) -> Iterator[list[float]]:
    """Yield for each operator the seconds of all its parts together, for every way of splitting it."""
    degrees = np.array(divisors(servers))
    work = operators_of(job)
    for index, choices in enumerate(candidate_splits(job, degrees, False)):
        rows = []
        for batch, channel, dim in choices if not work.graph.operators[index].is_embedding else ():
            split = OperatorSplit(int(degrees[batch]), 0, int(degrees[channel]), CHANNEL_DIMS[dim])
            time = work.time(index, split)
            rows.append(split.parts * (time.forward_s + time.backward_s))
        yield rows


def closed_form_s(request: JobRequest) -> float:
    """Return the iteration time of a transformer's fastest configuration in closed form, on one switch.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    Infeasible
        If no configuration fits in memory.
    """
    ranked = ranked_configurations(training_request(request))
    return float(ranked.times.iteration_time_s.min())
