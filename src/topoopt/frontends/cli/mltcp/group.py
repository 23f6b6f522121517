"""``topoopt mltcp``: the group of verbs about congestion control that interleaves jobs."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.frontends.cli.verbs import group

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
