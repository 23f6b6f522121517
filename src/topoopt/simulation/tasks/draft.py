"""A task graph in the making: tasks get their numbers at once, what they wait for may follow."""

from dataclasses import dataclass, field, replace

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.simulation.task_graph import (
    COLLECTIVE,
    COLLECTIVES,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)


@dataclass(slots=True)
class Draft:
    """Tasks of one iteration, and which wait for which.

    Attributes
    ----------
    rows : list of TaskRows
    edges : list of (before, after)
        Tasks of one iteration.
    held : list of (before, after)
        ``after`` is of the next iteration.
    count : int
        Tasks so far.
    """

    rows: list[TaskRows] = field(default_factory=list)
    edges: list[tuple[Ints, Ints]] = field(default_factory=list)
    held: list[tuple[Ints, Ints]] = field(default_factory=list)
    count: int = 0

    def add(self, rows: TaskRows) -> Ints:
        """Return the numbers of new tasks, shape (rows.count,)."""
        first = self.count
        self.rows.append(rows)
        self.count += rows.count
        return np.arange(first, self.count)

    def add_barrier(self, server: int, count: int) -> Ints:
        """Return the numbers of tasks that take no time: transfers of nothing from a server to itself."""
        return self.add(TaskRows(TRANSFER, count, src=server, dst=server))

    def add_collective(
        self,
        kind: str,
        members: tuple[int, ...],
        size_bytes: int,
        delay_s: float,
        count: int,
        label: int,
        phase: int,
    ) -> Ints:
        """Return the numbers of ``count`` equal collectives; of one server only the delay is left."""
        row = TaskRows(
            COLLECTIVE,
            count,
            delay_s,
            size_bytes=size_bytes,
            collective=COLLECTIVES.index(kind),
            members=(members,) * count,
            operator=label,
            phase=phase,
        )
        return self.add(row)

    def wait(self, before: Ints, after: Ints, *, next_iteration: bool = False) -> None:
        """Let each of ``after`` wait for its ``before``; the two are broadcast against each other."""
        both = np.broadcast_arrays(before, after)
        pair = both[0].ravel(), both[1].ravel()
        (self.held if next_iteration else self.edges).append(pair)

    def graph(self, servers: int, iterations: int, names: tuple[str, ...]) -> TaskGraph:
        """Return the graph of so many iterations."""
        if iterations == 1:  # nothing is copied: of many tasks there are more edges
            return task_graph_from_edges(
                servers, self.rows, _joined(self.edges, 0), _joined(self.edges, 1), names
            )
        number = np.arange(iterations)[:, None] * self.count
        within = [(number + _joined(self.edges, side)).ravel() for side in (0, 1)]
        across = [
            (number[: iterations - 1] + side * self.count + _joined(self.held, side)).ravel()
            for side in (0, 1)
        ]
        rows = [replace(row, iteration=turn) for turn in range(iterations) for row in self.rows]
        before, after = (np.concatenate(pair) for pair in zip(within, across, strict=True))
        return task_graph_from_edges(servers, rows, before, after, names)


def _joined(pairs: list[tuple[Ints, Ints]], side: int) -> Ints32:
    sides = [np.zeros(0, np.int64), *[pair[side] for pair in pairs]]
    return np.concatenate(sides, dtype=np.int32, casting="same_kind")
