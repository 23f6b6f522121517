"""A task graph whose collectives are played by their schedules: one transfer a send, a barrier between steps."""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.collectives import Moves
from topoopt.routing import Fabric
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.schedules.choice import choose
from topoopt.simulation.schedules.collective_choice import CollectiveChoice
from topoopt.simulation.task_graph import (
    COLLECTIVE,
    MOST_TASKS,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)


def with_schedules(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions
) -> tuple[TaskGraph, tuple[CollectiveChoice, ...]]:
    """Return the graph with schedules in the place of collectives, and which algorithm each group takes.

    All tasks keep their numbers: a collective becomes its own last barrier, and is done when it was. What it
    consists of comes after all tasks of the graph: a start, which has its delay, and step by step the transfers and
    a barrier, which is a transfer of nothing from a server to itself.

    Raises
    ------
    InvalidInput
        If that would be more than :data:`~topoopt.simulation.task_graph.MOST_TASKS` tasks.
    NoRoute
        If members cannot reach each other.
    """
    chosen, choices = choose(graph, fabric, options)
    played = {task: row.moves for task, row in chosen.items() if row.moves is not None}
    total = len(graph) + sum(_tasks(moves) for moves in played.values())
    if played and total > MOST_TASKS:
        raise InvalidInput(
            f"collective: {len(played)} collectives by {options.algorithm} would be {total} tasks, more than "
            f"{MOST_TASKS}; take another algorithm, or a ring"
        )
    return (_played(graph, played) if played else graph), choices


def _tasks(moves: Moves) -> int:
    """Return how many tasks a collective needs beside its own: a start, transfers, barriers between the steps."""
    return 1 + len(moves) + int(moves.step[-1])


def _played(graph: TaskGraph, played: dict[int, Moves]) -> TaskGraph:
    tasks = np.array(list(played), np.int64)
    start_of = np.arange(len(graph))
    rows, before, after, first = [_own_rows(graph, tasks)], [], [], len(graph)
    for task, moves in played.items():
        start_of[task] = first
        rows.append(_rows_of(graph, task, moves))
        sources, targets = _edges_of(first, task, moves)
        before.append(sources)
        after.append(targets)
        first += _tasks(moves)
    return task_graph_from_edges(
        graph.servers,
        rows,
        np.concatenate([graph.waited_for, *before]),
        np.concatenate([start_of[graph.successor], *after]),
        graph.operator_names,
    )


def _own_rows(graph: TaskGraph, played: Ints) -> TaskRows:
    """Return the tasks of the graph, those that are played as barriers."""
    gone = np.zeros(len(graph), bool)
    gone[played] = True
    here = graph.member[graph.member_first[:-1][gone]]
    kind, src, dst = graph.kind.copy(), graph.src.copy(), graph.dst.copy()
    kind[gone], src[gone], dst[gone] = TRANSFER, here, here
    left = np.flatnonzero((graph.kind == COLLECTIVE) & ~gone).tolist()
    return TaskRows(
        kind,
        len(graph),
        np.where(gone, 0.0, graph.duration_s),
        server=graph.server,
        src=src,
        dst=dst,
        size_bytes=np.where(gone, 0, graph.size_bytes),
        collective=np.where(gone, -1, graph.collective),
        members=tuple(graph.members(task) for task in left),
        operator=graph.operator,
        phase=graph.phase,
        iteration=graph.iteration,
        accelerator=graph.accelerator,
        job=graph.job,
    )


def _rows_of(graph: TaskGraph, task: int, moves: Moves) -> TaskRows:
    """Return start, transfers and barriers: after each step but the last, which the collective's own task ends."""
    place, _ = _places(moves)
    count = _tasks(moves)
    here = int(graph.member[graph.member_first[task]])
    src, dst, size = np.full(count, here), np.full(count, here), np.zeros(count, np.int64)
    src[place], dst[place] = moves.src, moves.dst
    size[place] = moves.transfer_bytes(int(graph.size_bytes[task]))
    delay_s = np.zeros(count)
    delay_s[0] = graph.duration_s[task]
    return TaskRows(
        TRANSFER,
        count,
        delay_s,
        src=src,
        dst=dst,
        size_bytes=size,
        operator=int(graph.operator[task]),
        phase=int(graph.phase[task]),
        iteration=int(graph.iteration[task]),
        job=int(graph.job[task]),
    )


def _places(moves: Moves) -> tuple[Ints, Ints]:
    """Return where behind the start each transfer stands, and each step's barrier; the last has none."""
    place = 1 + np.arange(len(moves)) + moves.step
    ends = np.searchsorted(moves.step, np.arange(moves.step[-1]), side="right")
    return place, 1 + ends + np.arange(moves.step[-1])


def _edges_of(first: int, task: int, moves: Moves) -> tuple[Ints, Ints]:
    place, barrier = _places(moves)
    opens = first + np.concatenate(([0], barrier))  # what the transfers of each step wait for
    closes = np.concatenate((first + barrier, [task]))
    sends = first + place
    return (
        np.concatenate((opens[moves.step], sends)),
        np.concatenate((sends, closes[moves.step])),
    )
