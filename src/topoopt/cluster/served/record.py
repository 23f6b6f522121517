"""What became of a served model: how long its sends took beside others, and alone."""

from collections.abc import Mapping

from topoopt.cluster.distribution import distribution
from topoopt.cluster.result import IterationTime, ServedRecord
from topoopt.cluster.served.watched import WatchedSends


def served_record(sends: WatchedSends, load: float) -> ServedRecord:
    """Return the record of a served model.

    Parameters
    ----------
    load
        The longest that its sends took of a cycle's time.
    """
    return ServedRecord(sends_time(sends.beside), sends_time(sends.alone), load)


def sends_time(weights: Mapping[float, float]) -> IterationTime:
    """Return mean and tail of seconds that count differently; 0 where nothing was sent."""
    if not weights:
        return IterationTime(0.0, 0.0)
    found = distribution(list(weights), list(weights.values()))
    return IterationTime(found.mean, found.p99)
