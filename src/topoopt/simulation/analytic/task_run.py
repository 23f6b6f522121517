"""TaskRun: the state of a run of a task graph between two events, as arrays for the event loops.

All arrays are C-contiguous and of these types, so that each kernel compiles once.

=================== ======= ============== ==============================================================
name                dtype   shape          meaning
=================== ======= ============== ==============================================================
device              int64   (tasks,)       of a compute task, -1 for communication
duration            float64 (tasks,)       s; of communication: the delay before it
successor_first     int64   (tasks+1,)     CSR pointer into ``successor``
successor           int32   (edges,)       tasks that wait for a task
waiting             int64   (tasks,)       predecessors that a task still waits for
start, finish       float64 (tasks,)       s; nan before
after               int64   (tasks,)       the next in the queue of its device
head, tail, busy    int64   (devices,)     queue of each device, and whether it computes
dirty, is_dirty     int64   (devices,)     devices that may start a task; the first ``tally[DIRTY]``
ready               int64   (tasks,)       tasks that wait for nothing any more; the first ``tally[READY]``
keys, codes         f8, i8  (events,)      heap of events by (s, code); the first ``tally[EVENTS]``
tally               int64   (4,)           see ``EVENTS``, ``DIRTY``, ``READY``, ``DONE``
=================== ======= ============== ==============================================================

Event codes below ``tasks`` end a computation or a delay; the meaning of others is up to the loop. Equal times are
served in order of code.
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.task_graph import TaskGraph

EVENTS, DIRTY, READY, DONE = range(4)


class TaskRun(NamedTuple):
    """State of tasks and devices in an event loop between two events."""

    device: Ints
    duration: Floats
    successor_first: Ints
    successor: Ints
    waiting: Ints
    start: Floats
    finish: Floats
    after: Ints
    head: Ints
    tail: Ints
    busy: Ints
    dirty: Ints
    is_dirty: Ints
    ready: Ints
    keys: Floats
    codes: Ints
    tally: Ints


def task_run(graph: TaskGraph, duration_s: Floats, events: int) -> TaskRun:
    """Return the initial state of a run with room for ``events`` events besides those of tasks."""
    arrays = graph.device, duration_s, graph.successor_first, graph.successor, graph.predecessors
    return make_task_run(*arrays, graph.devices, events)


def make_task_run(
    device: Ints,
    duration_s: Floats,
    successor_first: Ints,
    successor: Ints,
    predecessors: Ints,
    devices: int,
    events: int,
) -> TaskRun:
    """Return the initial state of a run of tasks without a task graph; tasks without predecessors are ready."""
    tasks, roots = len(device), np.flatnonzero(predecessors == 0)
    ready = np.zeros(tasks, np.int64)
    ready[: len(roots)] = roots
    return TaskRun(
        device=device,
        duration=duration_s,
        successor_first=successor_first,
        successor=successor.astype(np.int32, copy=False),
        waiting=predecessors.astype(np.int64),
        start=np.full(tasks, np.nan),
        finish=np.full(tasks, np.nan),
        after=np.full(tasks, -1),
        head=np.full(devices, -1),
        tail=np.full(devices, -1),
        busy=np.zeros(devices, np.int64),
        dirty=np.zeros(devices, np.int64),
        is_dirty=np.zeros(devices, np.int64),
        ready=ready,
        keys=np.zeros(tasks + events + 1),
        codes=np.zeros(tasks + events + 1, np.int64),
        tally=np.array([0, 0, len(roots), 0]),
    )
