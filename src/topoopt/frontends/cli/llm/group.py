"""``topoopt llm``: what a transformer and a number of accelerators come to, without a topology yet."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.frontends.cli.verbs import group

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
