"""The arrays of the packet engine: each described once, with the numbers of its columns.

All integers are int64. Times are picoseconds, sizes bytes, and ``NEVER`` is later than every time.

================ ========= ==================== ==========================================================
array            dtype     shape                meaning
================ ========= ==================== ==========================================================
count            int64     (COUNTS,)            counters and settings of the whole run
due, due_link    int64     (links+1,)           binary heap of links by the arrival time of their first packet
timer, timer_code int64    (timers,)            binary heap of everything else by (time, code)
link             int64     (links, LINK_FIELDS) one row per directed link
packet           int64     (slots, 4)           records of packets; the ring buffers of all links share them
flow             int64     (flows, FLOW_FIELDS) one row per open connection; rows are used again
window           float64   (flows, WINDOW_FIELDS) state of the transport of each connection
board            int8      (bytes,)             fate of every packet of the open connections, if any can be lost
constant         float64   (CONSTANTS,)         constants of the transport
path_start       int64     (paths,)             where a path begins in ``path_link``
path_link        int64     (entries,)           links of all paths; -1 stands before and behind each path
path_cumulative  float64   (paths,)             weights of a pair's paths, summed up
path_reverse     int64     (paths,)             path of the acknowledgments, -1 without
pair_first       int64     (pairs+1,)           paths of each ordered pair
pair_end         int64     (pairs, 2)           its servers
edge_pair        int64     (edges,)             pair of each edge along which a stream sends
stream           int64     (streams, STREAM_FIELDS) repeated rounds of equal connections; see ``streams.py``
task_stream      int64     (tasks+1,)           streams of each task
task             int64     (tasks, TASK_FIELDS) one row per task
successor_first  int64     (tasks+1,)           tasks that wait for a task, by rows
successor        int64     (edges,)
device           int64     (devices, DEVICE_FIELDS)
starting         int64     (streams+1,)         ring of streams that have connections to open
log              int64     (connections, LOG_FIELDS) one row per finished connection, or no rows
hop_first        int64     (servers²+1,)        on circuits that change: the next links from a server to another,
hop_link         int64     (choices,)           by rows; a link is numbered source · servers + destination
circuit          int64     (links, 3)           times on the wire after the next change, 0 where no circuit will be
================ ========= ==================== ==========================================================
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.int8]

NEVER = 1 << 62


class Count(IntEnum):
    """Columns of ``count``: the clock, what happened, what is in use, and the settings."""

    (
        NOW,
        EVENTS,
        HOPS,
        SENT,
        DELIVERED,
        DROPPED,
        MARKS,
        TIMEOUTS,
        RESENT,
        FLOWS_DONE,
        TASKS_DONE,
        CONNECTIONS,
        HEAP_SIZE,
        TIMER_SIZE,
        SLOTS_USED,
        LARGEST_RING,
        FLOWS_USED,
        FREE_FLOW,
        BOARD_USED,
        LARGEST_BOARD,
        STARTING_HEAD,
        STARTING_TAIL,
        LOGGED,
        STUCK_FLOW,
        TRANSPORT,
        LOSSY,
        SPRAY,
        ACKS_TRAVEL,
        PFC_OFF_BYTES,
        PFC_ON_BYTES,
        SEED,
        OPEN_FLOWS,
        PAUSES,
        BEGUN,
        SERVERS,
        HOPWISE,
        COMMAND,
        PACED,
        GO_BACK_N,
        SPREAD,
        MORE_TIMERS,
    ) = range(41)


FREE_RINGS = 64
"""``count[FREE_RINGS + k]`` is the first free ring of 2^k slots, -1 for none."""
COUNTS = 128


class Link(IntEnum):
    """Columns of ``link``."""

    (
        HEAD,
        TAIL,
        GONE,
        AHEAD,
        BASE,
        MASK,
        BUSY,
        LATENCY,
        SERIAL,
        SERIAL_OPEN,
        SERIAL_ACK,
        QUEUED,
        AHEAD_BYTES,
        MARK_LOW,
        MARK_HIGH,
        LIMIT,
        IN_HEAP,
        STATE,
        INGRESS,
        PAUSE_AT,
        PACKETS,
        BYTES,
        MARKS,
        DROPS,
        PEAK,
        DST,
        SWEPT,
        WAIT_HEAD,
        WAIT_TAIL,
        WAKE_AT,
        LAST,
        LAST_BUT_ONE,
    ) = range(32)


LINK_FIELDS = len(Link)

UP, PAUSED, DOWN = 0, 1, 2
"""States of a link: it sends; it holds what it has not begun to send; it loses everything. The last two are bits."""


class Packet(IntEnum):
    """Columns of ``packet``."""

    DEPART, ARRIVE, WHO, WHAT = range(4)


KIND_DATA, KIND_OPEN, KIND_ACK, KIND_ACK_AGAIN = 0, 1, 2, 3
MARKED, AGAIN = 4, 1 << 33
"""WHO is flow << 32 | place in ``path_link``, or the link itself where routes change.
WHAT is kind, MARKED and sequence << 3; then AGAIN for data that was sent before, or of an acknowledgment (which is of
another kind for such data) the next sequence number that is expected << 33."""

SIZE_DATA, SIZE_OPEN, SIZE_ACK = 8936, 1, 64


class Flow(IntEnum):
    """Columns of ``flow``."""

    (
        STREAM,
        PAIR,
        PATH,
        PLACE,
        PACKETS,
        SENT,
        ARRIVED,
        EXPECTED,
        ACKED,
        LOWEST,
        HIGHEST,
        SCANNED,
        LOST,
        LOST_FROM,
        PIPE,
        RECOVER,
        LIVE,
        STATE,
        BOARD,
        BOARD_CLASS,
        STARTED,
        MARKS,
        RESENT,
        DEADLINE,
        TIMER,
        PACE,
        TIMEOUTS,
        TIMED,
        TIMED_AT,
        CONNECTION,
        CNP_AT,
        NEXT,
        SRC,
        DST,
        RECOVERING,
        FURTHEST,
        REFUSED,
        BACKOFF,
        TIMED_AGAIN,
        LEAVES,
    ) = range(40)


FLOW_FIELDS = len(Flow)

OPENING, OPEN, CLOSED, FREE = 0, 1, 2, 3

PACE_IDLE, PACE_WAITING = -1, -2
"""Otherwise F_PACE is when a sender that paces its packets goes on: it has nothing to send; it waits for its link."""

NO_SEQUENCE = (1 << 30) - 1
"""More than the sequence number of any packet."""


class Window(IntEnum):
    """Columns of ``window``: the first four serve every transport, the rest belong to the one in use."""

    CWND, SSTHRESH, SRTT, RTTVAR = range(4)


OWN = 4
WINDOW_FIELDS = 16


class Constant(IntEnum):
    """Columns of ``constant``: the first serve every transport, the rest belong to the one in use."""

    FIRST_WINDOW, SSTHRESH, REORDER, TIMEOUT_MIN, TIMEOUT_FIRST, MARK_SHARE, NOTICE = range(7)


C_OWN = 8
CONSTANTS = 24


class Stream(IntEnum):
    """Columns of ``stream``."""

    TASK, ROUNDS, PACKETS, EDGE_FIRST, EDGES, ROUND, OPEN, CURSOR = range(8)


STREAM_FIELDS = len(Stream)


class Task(IntEnum):
    """Columns of ``task``."""

    DEVICE, DURATION, WAITING, OPEN, START, FINISH, READY, AFTER = range(8)


TASK_FIELDS = len(Task)


class Device(IntEnum):
    """Columns of ``device``."""

    HEAD, TAIL, BUSY, CALLED = range(4)


DEVICE_FIELDS = len(Device)


class Log(IntEnum):
    """Columns of ``log``."""

    STREAM, PAIR, START, FINISH, PACKETS, MARKS, RESENT, PATH = range(8)


LOG_FIELDS = len(Log)


class Timer(IntEnum):
    """Kinds of timers: code = kind << ``KIND_SHIFT`` | index; equal times are served in order of code."""

    (
        LINK_CHANGE_DOWN,
        LINK_CHANGE_UP,
        COMPUTE_END,
        DELAY_END,
        PAUSE,
        RESUME,
        RETRANSMIT,
        PACE,
        ROOM,
        DEVICE_START,
    ) = range(10)


KIND_SHIFT = 40

# commands, obeyed when the loop is entered
HOLD_ALL, RECONNECT = 1, 2


class Fate(IntEnum):
    """Of a packet on the board: not sent; on its way; received; lost; received and acknowledged; sent again."""

    UNSENT, FLYING, LANDED, MISSING, KNOWN, FLYING_AGAIN = range(6)


class Stop(IntEnum):
    """Why the engine came back."""

    (
        FINISHED,
        SLICE_OVER,
        TIME_REACHED,
        FULL_SLOTS,
        FULL_FLOWS,
        FULL_TIMERS,
        FULL_BOARD,
        STUCK,
        DRAINED,
    ) = range(9)


class State(NamedTuple):
    """Everything the engine knows between two events."""

    count: Ints  # type: ignore[assignment]  # hides the method of tuples, which nobody needs here
    due: Ints
    due_link: Ints
    timer: Ints
    timer_code: Ints
    link: Ints
    packet: Ints
    flow: Ints
    window: Floats
    board: Bytes
    constant: Floats
    path_start: Ints
    path_link: Ints
    path_cumulative: Floats
    path_reverse: Ints
    pair_first: Ints
    pair_end: Ints
    edge_pair: Ints
    stream: Ints
    task_stream: Ints
    task: Ints
    successor_first: Ints
    successor: Ints
    device: Ints
    starting: Ints
    log: Ints
    hop_first: Ints
    hop_link: Ints
    circuit: Ints
