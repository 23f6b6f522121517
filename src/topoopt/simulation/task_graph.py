"""TaskGraph: the tasks of one or more training iterations and their dependencies.

It also breaks ties between tasks that become ready together: first come, first served needs an order, and any will
do.

Simulators serve equal times in order of task number. Other numbers for the same tasks are another order: of
transfers that begin at once, and of compute tasks that wait for one device.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, Ints32, entries_of, owners, pointer
from topoopt.base.errors import InvalidInput
from topoopt.simulation.task_graph_kernel import sort_edges
from topoopt.workloads.pipelined_step import COLLECTIVE_KINDS

MOST_TASKS = 5_000_000
"""About 2 GB while they are simulated."""
COMPUTE, TRANSFER, COLLECTIVE = 0, 1, 2
"""Task kinds. A transfer goes on the network, and so does a collective."""
COLLECTIVES = COLLECTIVE_KINDS
"""Collective kinds; an index into this tuple is stored."""
ALL_TO_ALL = COLLECTIVES.index("all-to-all")
PHASES = ("forward", "backward", "activation", "gradient", "allreduce", "other", "weights")
"""Purposes of tasks: compute, compute, transfer, transfer, weight synchronization, anything else; compute again,
for gradients of weights that are not part of backward."""
OTHER = PHASES.index("other")


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks and their dependencies, as plain arrays. Make one with :func:`task_graph_from_edges`.

    Compute devices (accelerators) are serial, first come first served (equal ready times in order of task number)
    and never interrupted; any number of transfers run at the same time. All arrays but the CSR ones have shape
    (tasks,). Memory limits large graphs, so integers are as narrow as possible (:data:`STORED`).

    Attributes
    ----------
    servers : int
    kind : int8 array
        ``COMPUTE``, ``TRANSFER`` or ``COLLECTIVE``.
    server : int32 array
        Server of a compute task, else -1.
    duration_s : float64 array
        Duration of a compute task. For communication, the delay before it, e.g. for an AllReduce inside each server.
    src, dst : int32 arrays
        Ends of a transfer, else -1.
    size_bytes : int64 array
        Bytes of a transfer; buffer of one member of a collective.
    collective : int8 array
        Index into :data:`COLLECTIVES`, else -1.
    member_first, member : int64 arrays, shapes (tasks+1,), (members,)
        Members of collective t, in ring order: ``member[member_first[t] : member_first[t+1]]``.
    successor_first, successor : int64 and int32 arrays, shapes (tasks+1,), (edges,)
        Tasks that wait for task t, likewise.
    predecessors : int32 array
        Number of tasks that each task waits for.
    operator : int32 array
        Index into ``operator_names``, -1 for none.
    phase : int8 array
        Index into :data:`PHASES`.
    iteration : int32 array
        0 for the first.
    accelerator : int32 array
        Device of its server that a compute task runs on; 0 where a server counts as one device.
    job : int32 array
        Job of the task, with several jobs on one fabric; 0 where there is one.
    """

    servers: int
    kind: Ints
    server: Ints
    duration_s: Floats
    src: Ints
    dst: Ints
    size_bytes: Ints
    collective: Ints
    member_first: Ints
    member: Ints
    successor_first: Ints
    successor: Ints
    predecessors: Ints
    operator: Ints
    phase: Ints
    iteration: Ints
    accelerator: Ints
    job: Ints
    operator_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def iterations(self) -> int:
        """Number of training iterations in the graph."""
        return int(self.iteration.max()) + 1 if len(self) else 1

    @cached_property
    def devices(self) -> int:
        """Numbers of compute devices: as many for each server as the busiest one has."""
        return self.servers * self._accelerators

    @cached_property
    def device(self) -> Ints:
        """Device of a compute task, of any server, else -1; the server's number where each has one device."""
        server = self.server.astype(np.int64)
        return np.where(server < 0, -1, server * self._accelerators + self.accelerator)

    @cached_property
    def _accelerators(self) -> int:
        return int(self.accelerator.max(initial=0)) + 1

    @cached_property
    def collectives(self) -> Ints:
        """Numbers of the collectives."""
        return np.flatnonzero(self.kind == COLLECTIVE)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Sorted members of each group that has a collective, every group once; those of one server left out."""
        several = np.flatnonzero(np.diff(self.member_first) > 1).tolist()
        return tuple(sorted({tuple(sorted(self.members(task))) for task in several}))

    @cached_property
    def waited_for(self) -> Ints:
        """Task for which each entry of ``successor`` waits, shape (edges,)."""
        return owners(self.successor_first)

    def members(self, task: int) -> tuple[int, ...]:
        """Return the members of a collective, in ring order."""
        return tuple(self.member[self.member_first[task] : self.member_first[task + 1]].tolist())

    def name(self, task: int) -> str:
        """Return the description of a task, for messages and timelines."""
        operator = self.operator[task]
        label = self.operator_names[operator] if operator >= 0 else f"task {task}"
        where = {
            COMPUTE: f"on server {self.server[task]}",
            TRANSFER: f"{self.src[task]}->{self.dst[task]}",
            COLLECTIVE: f"over {self.member_first[task + 1] - self.member_first[task]} servers",
        }[int(self.kind[task])]
        return f"{label} {PHASES[self.phase[task]]} {where}"


@dataclass(frozen=True, eq=False)
class TaskRows:
    """Some tasks by columns, before they get numbers and dependencies; see :class:`TaskGraph`.

    Scalars represent a column of equal values. ``members`` has one tuple per collective.
    """

    kind: Ints | int
    count: int
    duration_s: Floats | float = 0.0
    server: Ints | int = -1
    src: Ints | int = -1
    dst: Ints | int = -1
    size_bytes: Ints | int = 0
    collective: Ints | int = -1
    members: tuple[tuple[int, ...], ...] = ()
    operator: Ints | int = -1
    phase: Ints | int = OTHER
    iteration: Ints | int = 0
    accelerator: Ints | int = 0
    job: Ints | int = 0


STORED: Mapping[str, type[np.generic]] = {
    "kind": np.int8,
    "collective": np.int8,
    "phase": np.int8,
    "duration_s": np.float64,
    "size_bytes": np.int64,
}
"""Types of stored columns that are not 32-bit integers."""
OFTEN_ALIKE = "iteration", "accelerator", "job"
"""Columns that take no memory where all tasks have the same."""
COLUMNS = tuple(item.name for item in fields(TaskRows) if item.name not in ("count", "members"))
"""Columns that rows and a graph share: one number per task."""


def task_graph_from_edges(
    servers: int,
    rows: list[TaskRows],
    before: Ints | Ints32,
    after: Ints | Ints32,
    operator_names: tuple[str, ...] = (),
) -> TaskGraph:
    """Return the graph of the given tasks, numbered in order; task ``after[i]`` waits for ``before[i]``.

    Raises
    ------
    InvalidInput
        If a number is out of range or the dependencies have a cycle, whose tasks are named.
    """
    tasks = sum(row.count for row in rows)
    successor_first, successor = _by_task(before, after, tasks)
    del before, after  # among the largest arrays, and what follows needs room
    columns = {name: _column(rows, name) for name in COLUMNS}
    columns["successor"] = successor
    columns["predecessors"] = np.bincount(successor, minlength=tasks).astype(np.int32)
    groups = [group for row in rows for group in row.members]
    sizes = np.zeros(tasks, np.int64)
    sizes[columns["kind"] == COLLECTIVE] = [len(group) for group in groups]
    graph = TaskGraph(
        servers,
        **columns,
        member_first=pointer(sizes),
        member=np.array([member for group in groups for member in group], np.int64),
        successor_first=successor_first,
        operator_names=operator_names,
    )
    compute, transfer = graph.kind == COMPUTE, graph.kind == TRANSFER
    _check_range(graph, compute & ((graph.server < 0) | (graph.server >= graph.servers)), "server")
    if (compute & (graph.accelerator < 0)).any():
        raise InvalidInput(f"task graph: accelerator must be >= 0, got {graph.accelerator.min()}")
    for end in ("src", "dst"):
        node = getattr(graph, end)
        _check_range(graph, transfer & ((node < 0) | (node >= graph.servers)), end)
    if len(graph.member) and not 0 <= graph.member.min() <= graph.member.max() < graph.servers:
        raise InvalidInput(f"task graph: a member of a collective is not in 0..{graph.servers - 1}")
    for name in ("duration_s", "size_bytes"):
        values = getattr(graph, name)
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if len(bad):
            raise InvalidInput(
                f"task graph: {graph.name(int(bad[0]))}: {name} must be >= 0, got {values[bad[0]]}"
            )
    cycle = find_cycle(graph)
    if cycle:
        names = ", ".join(f"{graph.name(task)} (task {task})" for task in cycle[:6])
        more = f" and {len(cycle) - 6} more" if len(cycle) > 6 else ""
        raise InvalidInput(f"task graph: these tasks wait for each other in a circle: {names}{more}")
    return graph


def _by_task(before: Ints | Ints32, after: Ints | Ints32, tasks: int) -> tuple[Ints, Ints32]:
    """Return the successors of each task as CSR: starts, shape (tasks+1,), and tasks, each once and ascending."""
    a, b = (np.ascontiguousarray(side, np.int32) for side in (before, after))
    for side in (a, b):
        wrong = np.flatnonzero((side < 0) | (side >= tasks))
        if len(wrong):
            raise InvalidInput(f"task graph: an edge names task {side[wrong[0]]}, of 0..{tasks - 1}")
    first, place = np.empty((2, tasks + 1), np.int64)
    by_after, successor = np.empty((2, len(a)), np.int32)
    kept = sort_edges(a, b, first, by_after, successor, place)
    return first, successor[:kept].copy() if kept < len(a) else successor


def distinct(values: Ints) -> Ints:
    """Return the different values in order: ``np.unique``, which hashes since NumPy 2.3 and takes ten times as long.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    first: NDArray[np.bool_] = np.concatenate((np.ones(len(ordered[:1]), bool), ordered[1:] != ordered[:-1]))
    kept: Ints = ordered[first]
    return kept


def _column(rows: list[TaskRows], name: str) -> Any:
    dtype, count = STORED.get(name, np.int32), sum(row.count for row in rows)
    if name in OFTEN_ALIKE:
        values = [getattr(row, name) for row in rows]
        if rows and all(isinstance(value, int) and value == values[0] for value in values):
            return np.broadcast_to(np.asarray(values[0], dtype), count)
    column, first = np.empty(count, dtype), 0
    for row in rows:
        column[first : first + row.count] = getattr(row, name)
        first += row.count
    return column


def _check_range(graph: TaskGraph, bad: NDArray[np.bool_], name: str) -> None:
    if bad.any():
        task = int(np.flatnonzero(bad)[0])
        raise InvalidInput(
            f"task graph: task {task}: {name} must be in 0..{graph.servers - 1}, "
            f"got {getattr(graph, name)[task]}"
        )


def find_cycle(graph: TaskGraph) -> tuple[int, ...]:
    """Return tasks that form a circle, each waiting for the one before it, or nothing."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    tasks = len(graph)
    if not tasks:
        return ()
    loops = np.flatnonzero(
        owners(graph.successor_first) == graph.successor
    )  # not kept: as many as there are edges
    if len(loops):
        return (int(graph.successor[loops[0]]),)
    shape = (tasks, tasks)
    matrix = csr_matrix(
        (np.ones(len(graph.successor), np.int8), graph.successor, graph.successor_first), shape
    )
    count, component = connected_components(matrix, directed=True, connection="strong")
    if count == tasks:
        return ()
    knot = int(np.flatnonzero(np.bincount(component) > 1)[0])
    here = int(np.flatnonzero(component == knot)[0])
    seen: dict[int, int] = {}
    while here not in seen:  # inside a strong component every step leads on
        seen[here] = len(seen)
        after = graph.successor[graph.successor_first[here] : graph.successor_first[here + 1]]
        here = int(after[component[after] == knot][0])
    return tuple(task for task, step in seen.items() if step >= seen[here])


def start_order(tasks: int, seed: int) -> Ints:
    """Return the tasks in the order of a seed; seed 0 keeps that of their numbers, shape (tasks,)."""
    return np.arange(tasks) if seed == 0 else np.random.default_rng(seed).permutation(tasks)


def renumbered(graph: TaskGraph, order: Ints) -> TaskGraph:
    """Return the same graph with other numbers: its task ``i`` is task ``order[i]`` of the one given."""
    number = np.empty(len(graph), np.int64)
    number[order] = np.arange(len(graph))
    member, _ = entries_of(graph.member_first, order)
    edge, _ = entries_of(graph.successor_first, order)
    return replace(
        graph,
        member_first=pointer(np.diff(graph.member_first)[order]),
        member=graph.member[member],
        successor_first=pointer(np.diff(graph.successor_first)[order]),
        successor=number[graph.successor[edge]],
        predecessors=graph.predecessors[order],
        **{name: getattr(graph, name)[order] for name in COLUMNS},
    )
