"""``topoopt testbed``: the group of verbs about a plan on real Linux."""

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
TESTBED_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "up": "Put a plan's network up on this machine: a namespace a server, a veth pair a link, the plan's routes.",
        "run": "Train on a plan's network and on switches on this machine: real PyTorch, beside the simulators.",
        "share": "Let training jobs share a link of this machine under reno, cubic and MLTCP in the kernel, timed.",
        "status": "List the testbeds of this machine: those that stand, are in use, or were left over.",
        "down": "Remove testbeds: namespaces with all links and routes, processes inside, and nothing else.",
    }
)
"""The verbs of the group."""
testbed = group(
    "topoopt.frontends.cli.testbed",
    TESTBED_VERBS,
    "A plan on real Linux: network namespaces as servers, links at scaled bandwidths. Needs root.",
)
