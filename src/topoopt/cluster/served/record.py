"""What became of a served model: how long its sends took beside others, and alone."""

from collections.abc import Mapping

from topoopt.cluster.distribution import distribution
from topoopt.cluster.result import IterationTime, ServedRecord


def served_record(sends: Mapping[float, float], alone: Mapping[float, float], load: float) -> ServedRecord:
    """Return the record of a served model.

    Parameters
    ----------
    sends, alone
        In how many cycles a send took how many seconds, beside others and alone; empty where nothing is sent.
    load
        The longest that its sends took of a cycle's time.
    """
    return ServedRecord(sends_time(sends), sends_time(alone), load)


def sends_time(weights: Mapping[float, float]) -> IterationTime:
    """Return mean and tail of seconds that count differently; 0 where nothing was sent."""
    if not weights:
        return IterationTime(0.0, 0.0)
    found = distribution(list(weights), list(weights.values()))
    return IterationTime(found.mean, found.p99)
