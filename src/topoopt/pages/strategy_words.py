"""A strategy in words: operators that are split alike in one line each."""

from collections import Counter

from topoopt.pages.words import counted
from topoopt.workloads import OperatorGraph
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy

MOST_LINES = 8
TABLE = "embedding table"
DIMENSIONS = {"out": "output channels", "in": "input channels", "rows": "rows", "columns": "columns"}


def strategy_words(graph: OperatorGraph, strategy: ParallelStrategy) -> list[str]:
    """Return lines such as ``23 dense, 1 concat: data parallel over 128 servers``, the most operators first."""
    kinds: dict[str, Counter[str]] = {}
    servers: dict[str, set[int]] = {}
    for op, split in zip(graph.operators, strategy.splits, strict=True):
        how = how_split(split, "whole" if op.is_embedding else "on one server")
        kinds.setdefault(how, Counter())[TABLE if op.kind == "embedding" else op.kind] += 1
        servers.setdefault(how, set()).update(split.servers(strategy.servers))
    ordered = sorted(kinds, key=lambda how: -kinds[how].total())
    lines = [f"{_counted(kinds[how])}: {how}, on {counted(len(servers[how]), 'server')}" for how in ordered]
    if len(lines) > MOST_LINES:
        rest = sum(kinds[how].total() for how in ordered[MOST_LINES - 1 :])
        lines[MOST_LINES - 1 :] = [
            f"{rest} more, in {len(lines) - MOST_LINES + 1} other ways: see the plan file"
        ]
    return lines


def how_split(split: OperatorSplit, whole: str = "on one server") -> str:
    """Return ``data parallel in 128``, ``rows split in 4``, both, or a word for what is not split."""
    parts = []
    if split.channel_degree > 1:
        parts.append(f"{DIMENSIONS[split.channel_dim]} split in {split.channel_degree}")
    if split.batch_degree > 1:
        parts.append(f"data parallel in {split.batch_degree}")
    return ", ".join(parts) or whole


def _counted(kinds: "Counter[str]") -> str:
    # A kind is a word for one operator ("dense", "conv2d"); only tables have a plural.
    return ", ".join(
        counted(count, kind) if kind == TABLE else f"{count} {kind}" for kind, count in kinds.most_common()
    )
