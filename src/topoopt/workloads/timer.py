"""The Protocol OperatorTimer: how long one part of an operator takes on one server."""

from dataclasses import dataclass
from typing import Protocol

from topoopt.workloads.graph import Operator

TWO_GRADIENTS = frozenset({"add", "multiply", "matmul", "attention"})
"""Kinds without weights whose backward pass makes a gradient for each of two inputs."""


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """Seconds of one forward and one backward pass, and where they come from.

    ``source`` is ``profile``, ``profile (interpolated)``, ``profile (extrapolated)``, ``roofline`` or
    ``imported``; ``, channels scaled`` follows where a measured time was divided over channel parts.
    """

    forward_s: float
    backward_s: float
    source: str


class OperatorTimer(Protocol):
    """Says how long a part of an operator takes."""

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch.

        A part runs on one server, on all its accelerators; an embedding table's runs on one accelerator,
        with the whole global batch. ``channel_degree`` is the number of channel parts (or of rows or columns
        of a table) that share these samples.
        """
        ...


def backward_factor(op: Operator) -> float:
    """Return how many times the forward operations a backward pass costs.

    Twice where there are weights (a gradient for the input and one for the weights) or two inputs, else
    once.
    """
    return 2.0 if op.weights or op.kind in TWO_GRADIENTS else 1.0
