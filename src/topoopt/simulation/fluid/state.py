"""State, Sharing and Links: the engine's state between two events of tasks, streams and shared links.

A *connection* sends bytes. All connections of a *class* use the same links, each link with a coefficient (bytes on it
per byte sent), and get the same rate for each unit of their weight. So a class keeps one virtual clock, the bytes
served to a unit of weight, and its connections in order of the clock value at which they are done.

All arrays are C-contiguous and int64 or float64, so that each kernel compiles once.
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.simulation.analytic.task_run import TaskRun

ACTIVE = 0
SHORT, AFRESH = range(2)
RANKED, CHANGED, QUEUED = range(3)
MANY = 2_048
"""Number of classes from which an event looks only at those that it changes."""


class Sharing(NamedTuple):
    """Connections and classes.

    ================ ======= ============== ==============================================================
    name             dtype   shape          meaning
    ================ ======= ============== ==============================================================
    connection_class int64   (connections,)
    bytes_each       float64 (connections,) bytes for each unit of weight
    share            float64 (connections,) weight in max-min fairness
    ends_at          float64 (connections,) value of the class's ``served`` at which it is done
    next_connection  int64   (connections,) the next of its class to be done
    entering         int64   (connections,) scratch
    first            int64   (classes,)     connection of a class that is done first, -1 for none
    served           float64 (classes,)     bytes served to a unit of ``share`` since the class became active
    force            float64 (classes,)     factor of all weights of the class; 1 except for MLTCP
    weight           float64 (classes,)     of all its connections with bytes to send
    listed           float64 (classes,)     part of ``weight`` that its links have counted
    level            float64 (classes,)     bytes/s for a unit of weight, and ``force`` times that of ``share``
    ceiling          float64 (classes,)     bytes/s that a class can have at most; or shape (0,): any
    active           int64   (classes,)     classes with connections; the first ``tally[ACTIVE]``
    tally            int64   (1,)           see ``ACTIVE``
    clock            float64 (1,)           s until when ``served`` is right
    ================ ======= ============== ==============================================================
    """

    connection_class: Ints
    bytes_each: Floats
    share: Floats
    ends_at: Floats
    next_connection: Ints
    entering: Ints
    first: Ints
    served: Floats
    force: Floats
    weight: Floats
    listed: Floats
    level: Floats
    ceiling: Floats
    active: Ints
    tally: Ints
    clock: Floats


class Links(NamedTuple):
    """The links of each class, and the active classes of each link, kept up to date.

    ================== ======= ============ ==================================================================
    name               dtype   shape        meaning
    ================== ======= ============ ==================================================================
    class_first        int64   (classes+1,) CSR pointer into ``class_link`` and ``coefficient``; none: it waits
    class_link         int64   (entries,)   directed links
    coefficient        float64 (entries,)   bytes on the link per byte sent
    capacity           float64 (links,)     bytes/s
    most               float64 (entries,)   part of the link that the class can fill at its ceiling; without any, 2
    link_first         int64   (links+1,)   CSR pointer into ``member`` and ``entry_at``
    member, entry_at   int64   (entries,)   active classes of a link, the first ``users``, and their entries
    place              int64   (entries,)   position of an entry of an active class in these
    users, demand      i8, f8  (links,)     active classes, and their total demand per unit of level
    load               float64 (links,)     part of a link that its active classes can fill, each at its ceiling
    short              int64   (links,)     links that can be filled; the first ``tally[SHORT]``. No other decides
    short_place        int64   (links,)     position of such a link in it, -1 for others
    unfrozen           int64   (links,)     scratch
    slope, left        float64 (links,)     scratch; ``left`` of the capacity, after filling
    full_at            float64 (links,)     level at which the link filled, infinity where it did not
    keys, codes        f8, i8  (events,)    scratch: a heap with room for each link and each class
    tally              int64   (2,)         see ``SHORT``, ``AFRESH``
    ================== ======= ============ ==================================================================

    With ``tally[AFRESH]`` the active classes of links are listed anew at every change of rates, in order of activation:
    where a pair's bytes are spread over paths, the order of summation shows in the last digits.
    """

    class_first: Ints
    class_link: Ints
    coefficient: Floats
    capacity: Floats
    most: Floats
    link_first: Ints
    member: Ints
    entry_at: Ints
    place: Ints
    users: Ints
    demand: Floats
    load: Floats
    short: Ints
    short_place: Ints
    unfrozen: Ints
    slope: Floats
    left: Floats
    full_at: Floats
    keys: Floats
    codes: Ints
    tally: Ints


STOPS = 0
HOLD, REPORT = 1, 2


class Rounds(NamedTuple):
    """Communication tasks: rounds of equal connections, one round after the other.

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
    opening       float64 (classes,)     bytes of connections being opened
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


class Many(NamedTuple):
    """State by which the engine looks only at classes that an event changes; of few classes, arrays of shape (0,).

    ================ ======= ========== ==================================================================
    name             dtype   shape      meaning
    ================ ======= ========== ==================================================================
    bottleneck       int64   (classes,) entry of the link with the least share of a class, -1 before it has any
    active_place     int64   (classes,) position in ``active``
    changed          int64   (classes,) classes that gained or lost a connection, the first ``tally[CHANGED]``
    is_changed       int64   (classes,)
    other            int64   (classes,) scratch: entry of the second bottleneck
    most             float64 (classes,) scratch: level there
    since            float64 (classes,) value of the bottleneck's clock when ``served`` was right
    target           float64 (classes,) value of that clock at which the first connection is done
    part             float64 (entries,) demand of the active classes of a link, in their order
    bound            int64   (links,)   bottlenecked classes, the first of the link's list of active ones
    ranked, place    int64   (links,)   heap of links by ``end_s``, the first ``tally[RANKED]``; position, or -1
    queued           int64   (links,)   whether a link's share is to be set anew
    stale            int64   (links,)   whether ``first_end`` may be too early
    clock, clock_s   float64 (links,)   bytes that a unit of weight has got on the link, and until when
    first_end, end_s float64 (links,)   value of the clock at which the first connection is done, and when this is
    band             float64 (links,)   bytes/s that may be free, or too much, until a share is set anew
    slack            float64 (1,)       part of its bottlenecked classes that a link may have free, or too much
    tally            int64   (3,)       see ``RANKED``, ``CHANGED``, ``QUEUED``
    ================ ======= ========== ==================================================================

    In ``Links``, ``full_at`` is the share of a link, infinite where it bottlenecks none; ``slope`` is the demand of the
    classes that it bottlenecks, and ``left`` the free bandwidth.
    """

    bottleneck: Ints
    active_place: Ints
    changed: Ints
    is_changed: Ints
    other: Ints
    most: Floats
    since: Floats
    target: Floats
    part: Floats
    bound: Ints
    ranked: Ints
    place: Ints
    queued: Ints
    stale: Ints
    clock: Floats
    clock_s: Floats
    first_end: Floats
    end_s: Floats
    band: Floats
    slack: Floats
    tally: Ints


class State(NamedTuple):
    """State of the engine between two events."""

    tasks: TaskRun
    rounds: Rounds
    sharing: Sharing
    many: Many


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


def make_many(classes: int, links: int, entries: int, slack: float) -> Many:
    """Return the state before the first event."""
    whole, real = np.zeros((5, classes), np.int64), np.zeros((3, classes))
    of_links, real_of_links = np.zeros((5, links), np.int64), np.zeros((5, links))
    parts, tally = np.zeros(entries), np.zeros(3, np.int64)
    return Many._make([*whole, *real, parts, *of_links, *real_of_links, np.array([slack]), tally])


def make_sharing(
    connection_class: Ints, size_bytes: Floats, weight: Floats, classes: int, ceiling: Floats | None = None
) -> Sharing:
    """Return the state in which no connection has begun."""
    connections = len(connection_class)
    return Sharing(
        connection_class=connection_class,
        bytes_each=size_bytes / weight,
        share=weight,
        ends_at=np.zeros(connections),
        next_connection=np.full(connections, -1),
        entering=np.zeros(connections, np.int64),
        first=np.full(classes, -1),
        served=np.zeros(classes),
        force=np.ones(classes),
        weight=np.zeros(classes),
        listed=np.zeros(classes),
        level=np.zeros(classes),
        ceiling=np.zeros(0) if ceiling is None else ceiling,
        active=np.zeros(classes, np.int64),
        tally=np.zeros(1, np.int64),
        clock=np.zeros(1),
    )


def make_links(
    class_first: Ints,
    class_link: Ints | Ints32,
    coefficient: Floats,
    capacity: Floats,
    *,
    afresh: bool = False,
    most: Floats | None = None,
) -> Links:
    """Return links without active classes."""
    entries, links = len(class_link), len(capacity)
    users = np.bincount(class_link, minlength=links)
    return Links(
        class_first=class_first,
        class_link=class_link.astype(np.int64, copy=False),
        coefficient=coefficient,
        capacity=capacity,
        most=np.full(entries, 2.0) if most is None else most,
        link_first=np.concatenate(([0], np.cumsum(users))).astype(np.int64),
        member=np.zeros(entries, np.int64),
        entry_at=np.zeros(entries, np.int64),
        place=np.zeros(entries, np.int64),
        users=np.zeros(links, np.int64),
        demand=np.zeros(links),
        load=np.zeros(links),
        short=np.zeros(links, np.int64),
        short_place=np.full(links, -1),
        unfrozen=np.zeros(links, np.int64),
        slope=np.zeros(links),
        left=np.zeros(links),
        full_at=np.full(links, np.inf),
        keys=np.zeros(links + len(class_first)),
        codes=np.zeros(links + len(class_first), np.int64),
        tally=np.array([0, int(afresh)]),
    )
