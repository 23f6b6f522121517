"""``topoopt llm``: what a transformer and a number of accelerators come to, without a topology yet."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.cli.verbs import Entry, group

LLM_VERBS: Mapping[str, Entry] = MappingProxyType(
    {
        "estimate": Entry(
            "topoopt.cli.llm.estimate",
            "Estimate the time of one training iteration, where it goes, and the memory that it needs.",
        ),
        "traffic": Entry(
            "topoopt.cli.llm.traffic",
            "Show what an iteration sends, exactly and without running it: by kind, by rank, between servers.",
        ),
        "search": Entry(
            "topoopt.cli.llm.search",
            "Find the fastest ways to split a transformer: degrees, micro-batch, recomputation, ZeRO.",
        ),
        "calibrate": Entry(
            "topoopt.cli.llm.calibrate",
            "Fit a calibration to measured step times, and say how far it is off on runs that it has not seen.",
        ),
    }
)
"""The verbs of the group."""

llm = group(
    LLM_VERBS, "Transformers on accelerators: step time, memory, traffic and the best way of splitting them."
)


@llm.callback()
def _group() -> None:
    """Keep every verb a word of its own."""
