"""The groups of verbs: ``topoopt cluster``, ``topoopt llm``, ``topoopt mltcp``."""

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
LLM_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "estimate": "Estimate the time of one training iteration, where it goes, and the memory that it needs.",
        "traffic": "Show what an iteration sends, exactly and without running it: by kind, by rank, between servers.",
        "search": "Find the fastest ways to split a transformer: degrees, micro-batch, recomputation, ZeRO.",
        "calibrate": "Fit a calibration to measured step times, and say how far it is off on runs that it has not "
        "seen.",
    }
)
"""The verbs of the group."""
llm = group(
    "topoopt.frontends.cli.llm",
    LLM_VERBS,
    "Transformers on accelerators: step time, memory, traffic and the best way of splitting them.",
)
MLTCP_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "simulate": "Let jobs share a link under MLTCP, fair sharing, CASSINI and on links of their own, iteration by "
        "iteration.",
    }
)
"""The verbs of the group."""
mltcp = group(
    "topoopt.frontends.cli.mltcp",
    MLTCP_VERBS,
    "Congestion control that lets jobs on one link find their interleaving by themselves.",
)
