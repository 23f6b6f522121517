"""The arrays of the packet engine: each described once, with the numbers of its columns.

All integers are int64. Times are picoseconds, sizes bytes, and ``NEVER`` is later than every time.

================ ========= ==================== ==========================================================
array            dtype     shape                meaning
================ ========= ==================== ==========================================================
count            int64     (COUNTS,)            counters and settings of the whole run
due, due_link    int64     (links+1,)           binary heap of links by the arrival time of their first packet
timer, timer_code int64    (timers,)            binary heap of everything else by (time, code)
link             int64     (links, len(Link)) one row per directed link
packet           int64     (slots, 4)           records of packets; the ring buffers of all links share them
flow             int64     (flows, len(Flow)) one row per open connection; rows are used again
window           float64   (flows, WINDOW_FIELDS) state of the transport of each connection
board            int8      (bytes,)             fate of every packet of the open connections, if any can be lost
constant         float64   (CONSTANTS + …,)     constants of the transport; weights and accounts, if any
path_start       int64     (paths,)             start of a path in ``path_link``
path_link        int64     (entries,)           links of all paths; -1 before and behind each path
path_cumulative  float64   (paths,)             weights of a pair's paths, summed up
path_reverse     int64     (paths,)             path of the acknowledgments, -1 without
pair_first       int64     (pairs+1,)           paths of each ordered pair
pair_end         int64     (pairs, 2)           its servers
edge_pair        int64     (edges,)             pair of each edge along which a stream sends
stream           int64     (streams, len(Stream)) repeated rounds of equal connections; see ``streams.py``
task_stream      int64     (tasks+1,)           streams of each task
task             int64     (tasks, len(Task)) one row per task
successor_first  int64     (tasks+1,)           tasks that wait for a task, by rows
successor        int64     (edges,)
device           int64     (devices, len(Device))
starting         int64     (streams+1,)         ring of streams that have connections to open
log              int64     (connections, len(Log)) one row per finished connection, or no rows
hop_first        int64     (servers²+1,)        on circuits that change: the next links from a server to another,
hop_link         int64     (choices,)           by rows; a link is numbered source · servers + destination
circuit          int64     (links, 3)           times on the wire after the next change, 0 where no circuit will be
================ ========= ==================== ==========================================================
"""

from enum import CONTINUOUS, UNIQUE, IntEnum, verify
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.flows.mltcp_weight import TABLE_POINTS

Bytes = NDArray[np.int8]

NEVER = 1 << 62


@verify(UNIQUE, CONTINUOUS)
class Count(IntEnum):
    """Columns of ``count``: the clock, event counts, resources in use, and the settings."""

    # the clock; what happened so far
    NOW, EVENTS, HOPS, SENT, DELIVERED, DROPPED, MARKS, TIMEOUTS, RESENT, PAUSES = range(0, 10)
    # tasks that are done, connections opened and still open, rows logged
    TASKS_DONE, CONNECTIONS, OPEN_FLOWS, LOGGED = range(10, 14)
    # in use: both heaps, slots of packets, the largest ring of them
    HEAP_SIZE, TIMER_SIZE, SLOTS_USED, LARGEST_RING = range(14, 18)
    # in use: rows of flows, the first one that is free again, bytes of boards, the largest board
    FLOWS_USED, FREE_FLOW, BOARD_USED, LARGEST_BOARD = range(18, 22)
    # the ring of streams that have connections to open
    STARTING_HEAD, STARTING_TAIL = range(22, 24)
    # whether it has begun, what the caller asks for, the connection that gave up
    BEGUN, COMMAND, STUCK_FLOW = range(24, 27)
    # the transport, and how it sends
    TRANSPORT, PACED, LOSSY, GO_BACK_N, SPRAY, ACKS_TRAVEL, PFC_OFF_BYTES, PFC_ON_BYTES, SEED = range(27, 36)
    # the fabric: its servers, whether routes go hop by hop, most links from a node (if sprayed), and to one
    SERVERS, HOPWISE, SPREAD, MORE_TIMERS = range(36, 40)
    # whether connections are kept, and weighed
    KEEPS = 40


FREE_RINGS = 64
"""``count[FREE_RINGS + k]`` is the first free ring of 2^k slots, -1 for none."""
COUNTS = 128


@verify(UNIQUE, CONTINUOUS)
class Link(IntEnum):
    """Columns of ``link``; those of queues are explained in ``links.py``."""

    # packets since the start: taken at the far end, joined, known to have left, counted for marks
    HEAD, TAIL, GONE, AHEAD = range(0, 4)
    # the ring buffer: its first slot, and its slots less one
    BASE, MASK = range(4, 6)
    # until when it sends, and its latency
    BUSY, LATENCY = range(6, 8)
    # times on the wire, of data, of what opens a connection, of an acknowledgment
    SERIAL, SERIAL_OPEN, SERIAL_ACK = range(8, 11)
    # bytes in the queue, and of those counted for marks
    QUEUED, AHEAD_BYTES = range(11, 13)
    # thresholds of marks, and the room, in bytes
    MARK_LOW, MARK_HIGH, LIMIT = range(13, 16)
    # whether it is in the heap; see below
    IN_HEAP, STATE = range(16, 18)
    # priority flow control: bytes in its node that came by it, and when it was paused
    INGRESS, PAUSE_AT = range(18, 20)
    # what it has carried, and its longest queue
    PACKETS, BYTES, MARKS, DROPS, PEAK = range(20, 25)
    # where it ends; TAIL when circuits changed
    DST, SWEPT = range(25, 27)
    # paced senders in line, when to look again, the last two packets of its own server
    WAIT_HEAD, WAIT_TAIL, WAKE_AT, LAST, LAST_BUT_ONE = range(27, 32)


UP, PAUSED, DOWN = 0, 1, 2
"""States of a link: it sends; it is paused after the current packet; it loses everything. The last two are bits."""


class Packet(IntEnum):
    """Columns of ``packet``."""

    DEPART, ARRIVE, WHO, WHAT = range(4)


KIND_DATA, KIND_OPEN, KIND_ACK, KIND_ACK_AGAIN = 0, 1, 2, 3
MARKED, AGAIN = 4, 1 << 33
"""WHO is flow << 32 | place in ``path_link``, or the link itself where routes change. WHAT is kind, MARKED and
sequence << 3; then AGAIN for data that was sent before, or of an acknowledgment (which is of another kind for such
data) the next sequence number that is expected << 33."""

SIZE_DATA, SIZE_OPEN, SIZE_ACK = 8936, 1, 64


@verify(UNIQUE, CONTINUOUS)
class Flow(IntEnum):
    """Columns of ``flow``; sequence numbers count packets of the connection."""

    # its stream, pair and path, and where the path begins
    STREAM, PAIR, PATH, PLACE = range(0, 4)
    # packets in all, sent, arrived, arrived without a gap, known to the sender
    PACKETS, SENT, ARRIVED, EXPECTED, ACKED = range(4, 9)
    # what the sender knows: all below, the highest, up to where it looked for losses
    LOWEST, HIGHEST, SCANNED = range(9, 12)
    # packets lost and the first of them, under way, and up to where a loss is no news
    LOST, LOST_FROM, PIPE, RECOVER = range(12, 16)
    # packets in the network, the state, and the place on the board
    LIVE, STATE, BOARD, BOARD_CLASS = range(16, 20)
    # for the log
    STARTED, MARKS, RESENT = range(20, 23)
    # timeouts: the deadline, the timer that is set, when a paced sender goes on, how many in a row
    DEADLINE, TIMER, PACE, TIMEOUTS = range(23, 27)
    # the packet whose round trip is measured, and since when
    TIMED, TIMED_AT = range(27, 29)
    # its number, when it may be told of marks again, the next in a list, its servers
    CONNECTION, CNP_AT, NEXT, SRC, DST = range(29, 34)
    # whether losses are made good, the highest packet ever sent, whether one was refused
    RECOVERING, FURTHEST, REFUSED = range(34, 37)
    # timeouts since the last measurement, whether the timed packet was sent again, when the last one leaves
    BACKOFF, TIMED_AGAIN, LEAVES = range(37, 40)


OPENING, OPEN, CLOSED, FREE = 0, 1, 2, 3

PACE_IDLE, PACE_WAITING = -1, -2
"""Otherwise F_PACE is when a sender that paces its packets goes on: it has nothing to send; it waits for its link."""

NO_SEQUENCE = (1 << 30) - 1
"""More than the sequence number of any packet."""


class Window(IntEnum):
    """Columns of ``window``: the first four and the last serve every transport, the rest belong to the one in use.

    The fields most needed for every packet come first, so that they share a cache line.
    """

    CWND, SSTHRESH, SRTT, WEIGHT, RTTVAR = 0, 1, 2, 3, 15


OWN = 4
WINDOW_FIELDS = 16


class Constant(IntEnum):
    """Columns of ``constant``: the first serve every transport, the rest belong to the one in use."""

    FIRST_WINDOW, SSTHRESH, REORDER, TIMEOUT_MIN, TIMEOUT_FIRST, MARK_SHARE, NOTICE = range(7)
    # of connections that are weighed: the silence that ends an iteration, as a part of the computing time
    GAP_SHARE = 7


C_OWN = 8
CONSTANTS = 24
ACCOUNTS = CONSTANTS + TABLE_POINTS
"""Behind the constants stand the weights of connections, by the part of an iteration that is in; then the accounts."""


class Stream(IntEnum):
    """Columns of ``stream``."""

    TASK, ROUNDS, PACKETS, EDGE_FIRST, EDGES, ROUND, OPEN, CURSOR, MARKS = range(9)


@verify(UNIQUE, CONTINUOUS)
class Account(IntEnum):
    """State that connections of a pair hand over, after the constants, followed by a row of ``window``. Times are
    ps.

    It is not a separate array: one more array in the state made the engine slower by a tenth to 40 %.
    """

    # whether a connection has been there, and when the last one had all its packets in
    USED, LEFT_AT = range(0, 2)
    # the account that counts for it: its own, or that of the first pair of its job
    COUNTER = 2
    # of an iteration: packets (0 while unknown), and the silence that ends it
    TOTAL, GAP = range(3, 5)
    # packets that are in since its start, and when the last one was acknowledged
    PACKETS, HEARD_AT = range(5, 7)
    # while these are learned: iterations found so far
    FOUND = 7


KEPT_FIELDS = len(Account) + WINDOW_FIELDS

KEPT, KEPT_AND_WEIGHED = 1, 2
"""``count[KEEPS]``: connections go on where the one before has ended, and by which part of their iteration is sent."""


class Task(IntEnum):
    """Columns of ``task``."""

    DEVICE, DURATION, WAITING, OPEN, START, FINISH, READY, AFTER = range(8)


class Device(IntEnum):
    """Columns of ``device``."""

    HEAD, TAIL, BUSY, CALLED = range(4)


class Log(IntEnum):
    """Columns of ``log``."""

    STREAM, PAIR, START, FINISH, PACKETS, MARKS, RESENT, PATH = range(8)


@verify(UNIQUE, CONTINUOUS)
class Timer(IntEnum):
    """Kinds of timers: code = kind << ``KIND_SHIFT`` | index; equal times are served in order of code."""

    # of links
    LINK_CHANGE_DOWN, LINK_CHANGE_UP = range(0, 2)
    # of tasks
    COMPUTE_END, DELAY_END = range(2, 4)
    # of links that are paused, of senders
    PAUSE, RESUME, RETRANSMIT, PACE = range(4, 8)
    # of a link with senders in line, of a device
    ROOM, DEVICE_START = range(8, 10)


KIND_SHIFT = 40

# commands, obeyed when the loop is entered
HOLD_ALL, RECONNECT = 1, 2


class Fate(IntEnum):
    """Fate of a packet on the board: not sent; in flight; received; lost; received and acknowledged; sent again."""

    UNSENT, FLYING, LANDED, MISSING, KNOWN, FLYING_AGAIN = range(6)


@verify(UNIQUE, CONTINUOUS)
class Stop(IntEnum):
    """Reason why the engine returned."""

    # all is done; the slice of events is; the time has come
    FINISHED, SLICE_OVER, TIME_REACHED = range(0, 3)
    # an array is full
    FULL_SLOTS, FULL_FLOWS, FULL_TIMERS, FULL_BOARD = range(3, 7)
    # a connection gave up; nothing can happen any more
    STUCK, DRAINED = range(7, 9)


class State(NamedTuple):
    """State of the engine between two events."""

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
