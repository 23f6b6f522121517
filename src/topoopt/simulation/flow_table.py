"""The noun FlowTable: a row for every flow or connection of a simulation."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class FlowTable:
    """Flows by columns, each of shape (flows,), in the order in which they ended.

    Attributes
    ----------
    task : int64 array
        Number in the task graph; a collective has one flow for every member and round.
    src, dst : int64 arrays
        Servers.
    size_bytes : int64 array
    start_s, finish_s : float64 arrays
        When the connection was asked for, and when its last byte was in.
    hops : int64 array
        Links of its path.
    packets, marks, resent : int64 arrays
        Data packets, how many arrived marked, and how many were sent again.
    alone_s : float64 array
        What the flow would take if nothing else moved: the closed form of its path. On circuits that change, that
        of one circuit.
    """

    task: Ints
    src: Ints
    dst: Ints
    size_bytes: Ints
    start_s: Floats
    finish_s: Floats
    hops: Ints
    packets: Ints
    marks: Ints
    resent: Ints
    alone_s: Floats

    def __len__(self) -> int:
        return len(self.task)

    @property
    def completion_s(self) -> Floats:
        """Flow completion times, shape (flows,)."""
        return self.finish_s - self.start_s

    @property
    def slowdown(self) -> Floats:
        """Completion times over those of the flows alone, shape (flows,); 1 for a flow that takes no time."""
        taken = self.alone_s > 0
        return np.where(taken, self.completion_s / np.where(taken, self.alone_s, 1.0), 1.0)
