"""A strategy in one short line."""

from collections import Counter

from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy


def split_words(strategy: ParallelStrategy) -> str:
    """Return how many operators are split in which way, the most frequent first; empty for a job of bytes alone.

    Examples
    --------
    >>> from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy
    >>> whole, copies = OperatorSplit(1, 3, 1, "none"), OperatorSplit(8, 0, 1, "none")
    >>> split_words(ParallelStrategy(8, (copies, copies, whole)))
    '2 data parallel in 8; 1 whole'
    """
    kinds = Counter(_how(split) for split in strategy.splits)
    return "; ".join(f"{count} {how}" for how, count in kinds.most_common())


def _how(split: OperatorSplit) -> str:
    channels = f"{split.channel_dim} split in {split.channel_degree}" if split.channel_degree > 1 else ""
    copies = f"data parallel in {split.batch_degree}" if split.batch_degree > 1 else ""
    return ", ".join(filter(None, (channels, copies))) or "whole"
