"""How long what a served model sends was under way over its whole stay, beside others and alone."""

from collections import defaultdict
from collections.abc import Sequence

from topoopt.clusters.pace import IterationTimes

Weights = defaultdict[float, float]
"""Seconds, and in how many cycles a send took so many; one cycle is one, whatever is sent in it."""


class WatchedSends:
    """Sends of a served model, by kind.

    Attributes
    ----------
    requests, requests_alone : mapping from seconds to cycles
        Keys and values of single requests.
    steady, steady_alone : mapping from seconds to cycles
        What experts, stages and split layers exchange.
    """

    def __init__(self) -> None:
        self.requests: Weights = defaultdict(float)
        self.requests_alone: Weights = defaultdict(float)
        self.steady: Weights = defaultdict(float)
        self.steady_alone: Weights = defaultdict(float)

    def count(self, times: IterationTimes, cycles: float) -> None:
        """Count so many cycles at a pace; where nobody else can disturb it, it is alone."""
        alone = times.sends_alone if times.alone_s else times.sends
        _count(self.requests, times.sends.requests.samples_s, cycles)
        _count(self.requests_alone, alone.requests.samples_s, cycles)
        _count(self.steady, times.sends.steady.samples_s, cycles)
        _count(self.steady_alone, alone.steady.samples_s, cycles)

    @property
    def beside(self) -> Weights:
        """Of both kinds, beside the others that ran."""
        return _both(self.requests, self.steady)

    @property
    def alone(self) -> Weights:
        """Of both kinds, with nobody else."""
        return _both(self.requests_alone, self.steady_alone)


def _count(weights: Weights, samples_s: Sequence[float], cycles: float) -> None:
    for sample_s in samples_s:
        weights[sample_s] += cycles / len(samples_s)


def _both(one: Weights, other: Weights) -> Weights:
    both: Weights = defaultdict(float, one)
    for time_s, cycles in other.items():
        both[time_s] += cycles
    return both
