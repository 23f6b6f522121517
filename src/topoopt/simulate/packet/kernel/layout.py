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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.int8]

NEVER = 1 << 62

# count: the clock, what happened, what is in use, and the settings
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

# link
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
    LINK_PACKETS,
    LINK_BYTES,
    LINK_MARKS,
    LINK_DROPS,
    LINK_PEAK,
    LINK_DST,
    LINK_SWEPT,
    WAIT_HEAD,
    WAIT_TAIL,
    WAKE_AT,
    LAST,
    LAST_BUT_ONE,
) = range(32)
LINK_FIELDS = 32

UP, PAUSED, DOWN = 0, 1, 2
"""States of a link: it sends; it holds what it has not begun to send; it loses everything. The last two are bits."""

# packet
DEPART, ARRIVE, WHO, WHAT = range(4)
KIND_DATA, KIND_OPEN, KIND_ACK, KIND_ACK_AGAIN = 0, 1, 2, 3
MARKED, AGAIN = 4, 1 << 33
"""WHO is flow << 32 | place in ``path_link``, or the link itself where routes change.
WHAT is kind, MARKED and sequence << 3; then AGAIN for data that was sent before, or of an acknowledgment (which is of
another kind for such data) the next sequence number that is expected << 33."""

SIZE_DATA, SIZE_OPEN, SIZE_ACK = 8936, 1, 64

# flow
(
    F_STREAM,
    F_PAIR,
    F_PATH,
    F_PLACE,
    F_PACKETS,
    F_SENT,
    F_ARRIVED,
    F_EXPECTED,
    F_ACKED,
    F_LOWEST,
    F_HIGHEST,
    F_SCANNED,
    F_LOST,
    F_LOST_FROM,
    F_PIPE,
    F_RECOVER,
    F_LIVE,
    F_STATE,
    F_BOARD,
    F_BOARD_CLASS,
    F_STARTED,
    F_MARKS,
    F_RESENT,
    F_DEADLINE,
    F_TIMER,
    F_PACE,
    F_TIMEOUTS,
    F_TIMED,
    F_TIMED_AT,
    F_CONNECTION,
    F_CNP_AT,
    F_NEXT,
    F_SRC,
    F_DST,
    F_RECOVERING,
    F_FURTHEST,
    F_REFUSED,
    F_BACKOFF,
    F_TIMED_AGAIN,
    F_LEAVES,
) = range(40)
FLOW_FIELDS = 40

OPENING, OPEN, CLOSED, FREE = 0, 1, 2, 3

PACE_IDLE, PACE_WAITING = -1, -2
"""Otherwise F_PACE is when a sender that paces its packets goes on: it has nothing to send; it waits for its link."""

NO_SEQUENCE = (1 << 30) - 1
"""More than the sequence number of any packet."""

# window: the first four serve every transport, the rest belong to the one in use
CWND, SSTHRESH, SRTT, RTTVAR = range(4)
OWN = 4
WINDOW_FIELDS = 16

# constant: the first serve every transport, the rest belong to the one in use
C_FIRST_WINDOW, C_SSTHRESH, C_REORDER, C_TIMEOUT_MIN, C_TIMEOUT_FIRST, C_MARK_SHARE, C_NOTICE = range(7)
C_OWN = 8
CONSTANTS = 24

# stream
S_TASK, S_ROUNDS, S_PACKETS, S_EDGE_FIRST, S_EDGES, S_ROUND, S_OPEN, S_CURSOR = range(8)
STREAM_FIELDS = 8

# task
T_DEVICE, T_DURATION, T_WAITING, T_OPEN, T_START, T_FINISH, T_READY, T_AFTER = range(8)
TASK_FIELDS = 8

# device
D_HEAD, D_TAIL, D_BUSY, D_CALLED = range(4)
DEVICE_FIELDS = 4

# log
(L_STREAM, L_PAIR, L_START, L_FINISH, L_PACKETS, L_MARKS, L_RESENT, L_PATH) = range(8)
LOG_FIELDS = 8

# timers: code = kind << 40 | index; equal times are served in order of code
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

# board
UNSENT, FLYING, LANDED, MISSING, KNOWN, FLYING_AGAIN = range(6)
"""Fates of a packet: not sent; on its way; received; lost; received and acknowledged; sent again."""

# why the kernel came back
FINISHED, SLICE_OVER, TIME_REACHED, FULL_SLOTS, FULL_FLOWS, FULL_TIMERS, FULL_BOARD, STUCK, DRAINED = range(9)


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
