"""The arrays of the simulator of serving: each described once, with the numbers of its columns.

Integers are int64, but those of cached blocks int32; all else is float64. Times are seconds.

============== ===== ======================== ==================================================================
array          dtype shape                    meaning
============== ===== ======================== ==================================================================
tally          i8    (len(Count),)            counters and settings of the whole run
number         f8    (len(Number),)           settings of the whole run
keys, codes    f8,i8 (room,)                  binary heap of events by (time, code): kind << SHIFT | which
arrival_s      f8    (requests,)              when requests come, ascending
request        i8    (requests, len(Request)) one row a request
time           f8    (requests, len(Time))    times of its events, NEVER_YET before
block_first    i8    (requests+1,)            blocks of a request's prompt
block          i8    (blocks,)                names from 0
replica        i8    (replicas, len(Replica)) one row a replica
clock          f8    (replicas, len(Clock))   of each replica
running        i8    (replicas, width)        requests that have pages, in order of admission
pool           i8    (2, len(Pool))           prefill or combined replicas; decode replicas
law            f8    (2, len(Law))            of their steps
grid           f8    (points, len(Grid))      tables of step times of both pools, one behind the other
setup_s        f8    (replicas, replicas)     from a prefill to a decode replica; one entry without these
bytes_per_s    f8    (replicas, replicas)     of that transfer
allowed        b1    (replicas, replicas)     whether one sends to another while it may; one entry where none does
way_first      i8    (replicas**2+1,)         links of a pair, at source * replicas + end; one entry without a fabric
way_link       i8    (entries,)               such a link
way_share      f8    (entries,)               bytes on it for a byte of a cache
capacity       f8    (links,)                 bytes/s that a link carries now, 0 while it is down
whole          f8    (links,)                 while it is not
down           i8    (links,)                 outages that it is in
left, slope    f8    (links,)                 scratch of sharing: bandwidth left, load per unit of all rates that rise
flow           f8    (requests, len(Flow))    of a cache that crosses links; one row without a fabric
flowing        i8    (requests,)              requests whose caches do or will, in order; the first tally[FLOWING]
change_s       f8    (changes,)               when a replica or a link fails or comes back
change         i8    (changes, 2)             replica; 0: fails, 1: comes back; or link; 2: fails, 3: comes back
users          i4    (replicas, blocks)       of a cached block, ABSENT if it is not there
older, newer   i4    (replicas, blocks+1)     ring of blocks without users; the last entry is its head
log            f8    (room, len(Log))         one row a step that begins, as long as there is room
============== ===== ======================== ==================================================================
"""

from enum import CONTINUOUS, UNIQUE, IntEnum, verify
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints, Ints32

SHIFT = 40
NEVER = np.inf
NEVER_YET = -1.0
ABSENT = -1
PREFILL_FIRST, CHUNKED, DISAGGREGATED = range(3)
ROUND_ROBIN, LEAST_LOADED, PREFIX_AWARE, NETWORK_AWARE = range(4)
COMES, TRANSFERRED, CHANGED, TURNED, TICK = range(5)
"""Kinds of events in the heap; of those at the same time the first kind comes first."""
WAITING, READING, ANSWERING, SENT, DONE = range(5)
"""States of a request: queued, prefill, decoding, transfer of its cache, finished."""
IDLE, STEPPING = range(2)
STAYS, DRAINS, TURNS = range(3)
"""States of a replica that changes its pool: it takes no more requests; it has none and changes."""


@verify(UNIQUE, CONTINUOUS)
class Count(IntEnum):
    """Columns of ``tally``."""

    # requests that came, that are done; events in the heap, that were handled; rows logged
    COME, DONE, HEAP, EVENTS, LOGGED = range(0, 5)
    # whose turn it is in each pool; steps of all replicas
    TURN, TURN_OF_ANSWERS, STEPS = range(5, 8)
    # settings: mode, router, tokens of a page, pages of a block, clients, rows of a decode, layers sent one by one
    MODE, ROUTER, PAGE, BLOCK_PAGES, CLIENTS, ROWS, LAYERS = range(8, 15)
    # whether prefixes are kept; blocks that there are; most events
    PREFIX, BLOCKS, MOST_EVENTS = range(15, 18)
    # links of the fabric; caches that cross them; whether links are to be shared anew
    LINKS, FLOWING, UNSHARED = range(18, 21)


class Number(IntEnum):
    """Columns of ``number``."""

    # tokens of a step for a request, bytes of a cached token, and the rule of roles
    ACCEPTED, CACHE_BYTES, EVERY_S, TURN_S, UNREAD, FULL, EMPTY = range(7)
    # until when caches have crossed links, and when next something changes there
    CROSSED, NEXT = range(7, 9)


class Request(IntEnum):
    """Columns of ``request``."""

    # tokens of prompt and answer; decode steps in all, and done
    INPUT, OUTPUT, TOTAL, STEPS = range(0, 4)
    # what it does, where it is, from where its cache came; who waits behind it
    STATE, REPLICA, SOURCE, BEHIND = range(4, 8)
    # tokens to read and read; those of this step; pages of its own; blocks that it shares
    TARGET, READ, PIECE, PAGES, SHARED = range(8, 13)
    # whether its first token was made; how often it lost its pages; tokens of its prompt that were cached
    BEGUN, PREEMPTED, HIT = range(13, 16)
    # failures of its replicas that it had seen when its cache was sent; whether its way was chosen
    EPOCH, SOURCE_EPOCH, BOUND = range(16, 19)


class Time(IntEnum):
    """Columns of ``time``: prefill started and ended, cache arrived, first token, last token."""

    BEGIN, READ, ARRIVED, FIRST, LAST = range(5)


class Flow(IntEnum):
    """Columns of ``flow``."""

    # bytes that have not crossed the links yet, bytes/s now, at most, and while the prompt is read
    LEFT, RATE, CEILING, READING = range(4)
    # when the first layer is read, when the last is; when all will have crossed at this rate
    STARTS, LIFTS, ENDS = range(4, 7)


class Replica(IntEnum):
    """Columns of ``replica``."""

    # its pool, whether it steps, is up; whether it is to change its pool, how often it failed; whether to look at it
    POOL, BUSY, UP, TURNING, EPOCH, MARKED = range(0, 6)
    # its queue: first, last and how many; how many have pages
    HEAD, TAIL, WAITING, RUNNING = range(6, 10)
    # pages in use, in blocks that nobody uses, in use at most
    USED, CACHED, PEAK = range(10, 13)
    # tokens to read of all its requests; steps in a row, requests that are answered in them
    UNREAD, ROW, ANSWERED = range(13, 16)
    # why the first of its queue may not come in: 0 none waits, 1 pages, 2 requests, 3 tokens of a step
    HELD_BACK = 16


class Clock(IntEnum):
    """Columns of ``clock``."""

    # steps in a row: begin, seconds of each but for caches, cached tokens in the first, end
    BEGIN, EACH, TOKENS, END = range(0, 4)
    # tokens of all its requests; until when its links are in use
    LOAD, SENDING, RECEIVING = range(4, 7)
    # seconds spent in steps that only read, that only answer, that do both
    READING, ANSWERING, BOTH = range(7, 10)
    # seconds of steps while pages, requests held back; of caches in steps; requests times seconds of answers
    NO_PAGE, NO_PLACE, OF_CACHES, BATCH_S = range(10, 14)


class Pool(IntEnum):
    """Columns of ``pool``: pages, tokens of a step, requests of a replica, stages, its rows of ``grid``."""

    PAGES, BUDGET, BATCH, STAGES, FIRST, BEYOND = range(6)


class Law(IntEnum):
    """Columns of ``law``: seconds a cached token, and a pair of a prompt's tokens."""

    CACHED, PAIR = range(2)


class Grid(IntEnum):
    """Columns of ``grid``."""

    TOKENS, BASE, PREFILL, HEAD = range(4)


class Log(IntEnum):
    """Columns of ``log``."""

    TIME, REPLICA, USED, CACHED, RUNNING, WAITING, TOKENS, SECONDS, PRODUCED = range(9)


class State(NamedTuple):
    """All arrays."""

    tally: Ints
    number: Floats
    keys: Floats
    codes: Ints
    arrival_s: Floats
    request: Ints
    time: Floats
    block_first: Ints
    block: Ints
    replica: Ints
    clock: Floats
    running: Ints
    pool: Ints
    law: Floats
    grid: Floats
    setup_s: Floats
    bytes_per_s: Floats
    allowed: Flags
    way_first: Ints
    way_link: Ints
    way_share: Floats
    capacity: Floats
    whole: Floats
    down: Ints
    left: Floats
    slope: Floats
    flow: Floats
    flowing: Ints
    change_s: Floats
    change: Ints
    users: Ints32
    older: Ints32
    newer: Ints32
    log: Floats
