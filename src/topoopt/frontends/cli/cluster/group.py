"""``topoopt cluster``: the group of verbs about many jobs over time."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.frontends.cli.verbs import group

CLUSTER_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "run": "Run a trace of jobs on a cluster, and say how long iterations, jobs and waiting take on each fabric.",
    }
)
"""The verbs of the group."""

cluster = group(
    "topoopt.frontends.cli.cluster",
    CLUSTER_VERBS,
    "Many jobs over time: arrivals, shards and their wiring, queueing; TopoOpt beside shared fabrics.",
)
