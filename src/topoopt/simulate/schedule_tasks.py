"""Any collective schedule as a task graph of its own: one transfer per send, a barrier between steps."""

from collections.abc import Sequence

import numpy as np

from topoopt.collectives import Schedule
from topoopt.errors import InvalidInput
from topoopt.simulate.task_graph import TRANSFER, Ints, TaskGraph, TaskRows, task_graph_from_edges


def schedule_task_graph(
    schedule: Schedule, members: Sequence[int], size_bytes: int, servers: int | None = None
) -> TaskGraph:
    """Return the transfers of a schedule, rank r on server ``members[r]``.

    Sends of one step between the same ranks are one transfer of all their chunks. After each step stands a
    barrier: a transfer of nothing from a server to itself.

    Parameters
    ----------
    size_bytes : int
        Buffer of one rank; a chunk is the floor of its share.
    servers : int, optional
        Servers of the fabric; by default one more than the largest member.

    Raises
    ------
    InvalidInput
        If there is not one member per rank.
    """
    if len(members) != schedule.ranks:
        raise InvalidInput(
            f"schedule {schedule.name}: needs {schedule.ranks} members, one a rank, got {len(members)}"
        )
    server = np.asarray(members, np.int64)
    chunk_bytes = int(schedule.chunk_bytes(size_bytes))
    rows: list[TaskRows] = []
    before, after, task = [], [], 0
    for step in schedule.steps:
        pairs = np.array([(send.src, send.dst) for send in step], np.int64)
        (src, dst), count = _merged(pairs)
        sends = task + np.arange(len(count))
        barrier = task + len(count)
        rows.append(
            TaskRows(TRANSFER, len(count), src=server[src], dst=server[dst], size_bytes=count * chunk_bytes)
        )
        rows.append(TaskRows(TRANSFER, 1, src=int(server[0]), dst=int(server[0])))
        if task:
            before.append(np.full(len(count), task - 1))
            after.append(sends)
        before.append(sends)
        after.append(np.full(len(count), barrier))
        task = barrier + 1
    nodes = int(server.max()) + 1 if servers is None else servers
    return task_graph_from_edges(nodes, rows, np.concatenate(before), np.concatenate(after))


def _merged(pairs: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs as columns, and how often each occurs."""
    distinct, count = np.unique(pairs, axis=0, return_counts=True)
    return distinct.T, count.astype(np.int64)
