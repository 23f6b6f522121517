"""``topoopt cluster``: the group of verbs about many jobs over time."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.cli.verbs import Entry, group

CLUSTER_VERBS: Mapping[str, Entry] = MappingProxyType(
    {
        "run": Entry(
            "topoopt.cli.cluster_run",
            "Run a trace of jobs on a cluster, and say how long iterations, jobs and waiting take on each fabric.",
        ),
    }
)
"""The verbs of the group."""

cluster = group(
    CLUSTER_VERBS,
    "Many jobs over time: arrivals, shards and their wiring, queueing; TopoOpt beside shared fabrics.",
)


@cluster.callback()
def _group() -> None:
    """Keep ``run`` a word of its own, though it is the only verb of the group."""
