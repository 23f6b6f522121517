"""Operator times that came with an imported operator list; the rest is asked of another timer."""

from dataclasses import dataclass

from topoopt.workloads.graph import Operator
from topoopt.workloads.timer import OperatorTime, OperatorTimer, backward_factor


@dataclass(frozen=True, slots=True)
class ImportedTimer:
    """Times in proportion to samples, from the operator's own ``forward_time_s`` and ``timed_samples``.

    A missing backward time is the forward time times :func:`backward_factor`. Channel parts share the time
    equally.
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
