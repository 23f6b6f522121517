"""The Protocol OperatorTimer and measured curves of time over samples: how long one part of an operator takes on one
server."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from topoopt.workloads.operator_graph import Operator

TWO_GRADIENTS = frozenset({"add", "multiply", "matmul", "attention"})
"""Kinds without weights whose backward pass makes a gradient for each of two inputs."""


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """Seconds of one forward and one backward pass, and their source.

    ``source`` is ``profile``, ``profile (interpolated)``, ``profile (extrapolated)``, ``roofline`` or
    ``imported``; ``, channels scaled`` follows where a measured time was divided over channel parts.
    """

    forward_s: float
    backward_s: float
    source: str


class OperatorTimer(Protocol):
    """Timer of a part of an operator."""

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch.

        A part runs on one server, on all its accelerators; an embedding table's runs on one accelerator,
        with the whole global batch. ``channel_degree`` is the number of channel parts (or of rows or columns
        of a table) that share these samples.
        """
        ...


def backward_factor(op: Operator) -> float:
    """Return the FLOPs of a backward pass relative to a forward pass.

    Twice where there are weights (a gradient for the input and one for the weights) or two inputs, else once.
    """
    return 2.0 if op.weights or op.kind in TWO_GRADIENTS else 1.0


class Measured(Protocol):
    """Anything with the times of a forward and a backward pass."""

    @property
    def forward_s(self) -> float:
        """Duration of the forward pass."""

    @property
    def backward_s(self) -> float:
        """Duration of the backward pass."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Measured times of one operator shape over samples, ascending."""

    samples: tuple[float, ...]
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]

    def time(self, at: float, floor_s: tuple[float, float], channel_degree: int) -> OperatorTime:
        """Return the time of one of ``channel_degree`` parts that share these samples.

        Each takes ``floor + (t - floor) / channel_degree``: the work is divided, the launch is not.
        """
        forward_s, source = time_at(self.samples, self.forward_s, at, floor_s[0])
        backward_s, _ = time_at(self.samples, self.backward_s, at, floor_s[1])
        if channel_degree > 1:
            forward_s = floor_s[0] + (forward_s - floor_s[0]) / channel_degree
            backward_s = floor_s[1] + (backward_s - floor_s[1]) / channel_degree
            source += ", channels scaled"
        return OperatorTime(forward_s, backward_s, source)


def curve_of(rows: Iterable[tuple[float, float, float]]) -> Curve:
    """Return the curve through rows of samples, forward and backward seconds, in any order."""
    return Curve(*zip(*sorted(rows), strict=True))


def launch_floor_s(rows: Iterable[Measured]) -> tuple[float, float]:
    """Return the shortest forward and backward times."""
    times_s = [(row.forward_s, row.backward_s) for row in rows]
    return min((row[0] for row in times_s), default=0.0), min((row[1] for row in times_s), default=0.0)


def time_at(
    samples: Sequence[float], times_s: Sequence[float], at: float, floor_s: float
) -> tuple[float, str]:
    """Return the time at a number of samples, and how it was found.

    Between two measured points it is on a straight line. Beyond them it goes on along the line through the last
    two, never below ``floor_s``; from a single point on, the work above the floor is in proportion to samples.

    Parameters
    ----------
    samples, times_s : sequence of float
        Measured points, ascending in samples.

    Examples
    --------
    >>> time_at((1.0, 3.0), (2.0, 6.0), 2.0, 0.0)
    (4.0, 'profile (interpolated)')
    """
    index = bisect_left(samples, at)
    if index < len(samples) and samples[index] == at:
        return times_s[index], "profile"
    if len(samples) == 1:
        return floor_s + (times_s[0] - floor_s) * at / samples[0], "profile (extrapolated)"
    inside = 0 < index < len(samples)
    right = min(max(index, 1), len(samples) - 1)
    left = right - 1
    slope = (times_s[right] - times_s[left]) / (samples[right] - samples[left])
    if inside:
        return times_s[left] + slope * (at - samples[left]), "profile (interpolated)"
    end = left if index == 0 else right
    return max(floor_s, times_s[end] + max(slope, 0.0) * (at - samples[end])), "profile (extrapolated)"


@dataclass(frozen=True, slots=True)
class ImportedTimer:
    """Times in proportion to samples, from the operator's own ``forward_time_s`` and ``timed_samples``.

    A missing backward time is the forward time times :func:`backward_factor`. Channel parts share the time equally.
    """

    fallback: OperatorTimer

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch."""
        if op.forward_time_s is None:
            return self.fallback.time(op, samples, channel_degree)
        scale = samples / op.timed_samples / channel_degree
        backward_s = op.backward_time_s
        if backward_s is None:
            backward_s = backward_factor(op) * op.forward_time_s
        return OperatorTime(op.forward_time_s * scale, backward_s * scale, "imported")
