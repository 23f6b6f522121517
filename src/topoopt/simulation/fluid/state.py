"""The noun State: everything that the engine knows between two events, tasks, their streams and who shares links."""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.fluid.sharing import Sharing
from topoopt.simulation.task_run import TaskRun

STOPS = 0
HOLD, REPORT = 1, 2


class Rounds(NamedTuple):
    """What tasks of the network send: rounds of equal connections, one round after the other.

    ============= ======= ============== ==============================================================
    name          dtype   shape          meaning
    ============= ======= ============== ==============================================================
    task_stream   int64   (tasks+1,)     streams of each task
    open_streams  int64   (tasks,)       of them not done, once the delay is over
    stream_task   int64   (streams,)
    first         int64   (streams+1,)   connections of each stream; the next round has the same
    rounds_left   int64   (streams,)     rounds that have not begun
    to_end        int64   (streams,)     connections of the present round not done
    of            int64   (connections,) stream of a connection
    opening       float64 (classes,)     bytes of those that are being opened
    entered       float64 (classes,)     bytes of all connections so far
    watch         int64   (tasks,)       ``HOLD``, ``REPORT``, both or neither (0)
    stops         int64   (2 tasks,)     watched tasks that are ready or done; the first ``tally[STOPS]``
    tally         int64   (1,)           see ``STOPS``
    ============= ======= ============== ==============================================================

    The engine stops when a watched task becomes ready (``HOLD``), which then begins at
    :func:`topoopt.simulation.fluid.engine.start_held` only, or is done (``REPORT``).
    """

    task_stream: Ints
    open_streams: Ints
    stream_task: Ints
    first: Ints
    rounds_left: Ints
    to_end: Ints
    of: Ints
    opening: Floats
    entered: Floats
    watch: Ints
    stops: Ints
    tally: Ints


class State(NamedTuple):
    """Everything that the engine knows between two events."""

    tasks: TaskRun
    rounds: Rounds
    sharing: Sharing


class Delays(NamedTuple):
    """S between opening and first byte, and between last byte and end, float64 arrays of shape (connections,)."""

    before: Floats
    after: Floats


def make_rounds(task_stream: Ints, first: Ints, rounds: Ints, classes: int) -> Rounds:
    """Return the streams before any has begun, none watched."""
    tasks, streams = len(task_stream) - 1, len(rounds)
    return Rounds(
        task_stream=task_stream,
        open_streams=np.diff(task_stream),
        stream_task=np.repeat(np.arange(tasks), np.diff(task_stream)),
        first=first,
        rounds_left=rounds.copy(),
        to_end=np.zeros(streams, np.int64),
        of=np.repeat(np.arange(streams), np.diff(first)),
        opening=np.zeros(classes),
        entered=np.zeros(classes),
        watch=np.zeros(tasks, np.int64),
        stops=np.zeros(2 * tasks, np.int64),
        tally=np.zeros(1, np.int64),
    )
