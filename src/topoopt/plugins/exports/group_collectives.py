"""Which collectives that go around rings each group of replicas has in an iteration."""

from collections import defaultdict
from collections.abc import Mapping

from topoopt.plugins.exports.deployment import Deployment
from topoopt.search import task_graph_of
from topoopt.simulation import COLLECTIVES

ALLREDUCE = "allreduce"
ON_RINGS = (ALLREDUCE, "all-gather", "reduce-scatter")


def ring_collectives(deployment: Deployment) -> Mapping[tuple[int, ...], tuple[str, ...]]:
    """Return the kinds by the sorted members of each group."""
    graph = task_graph_of(deployment.plan.job, deployment.plan.strategy)
    found: dict[tuple[int, ...], set[str]] = defaultdict(set)
    for task in graph.collectives.tolist():
        found[tuple(sorted(graph.members(task)))].add(COLLECTIVES[graph.collective[task]])
    return {members: tuple(kind for kind in ON_RINGS if kind in kinds) for members, kinds in found.items()}
