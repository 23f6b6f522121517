"""The arrays of the search's kernels: constants of a search, and the state that a proposal changes.

Arrays (n servers, O operators, G graph edges, L links, D divisors of n, K candidates, R most rings of a group, E
route entries):

================  =======  ===============  ==============================================================
name              dtype    shape            meaning
================  =======  ===============  ==============================================================
divisors          int64    (D,)             divisors of n, ascending
operator          int64    (O, 4)           output bytes per sample times the embedding factor; kind; 1 for a
                                            placed table; number of candidates
cost              float64  (O, D, D, 7)     by (batch degree, channel degree): see the constants below
ring_bytes        float64  (O, D, D, R)     bytes that AllReduces put on an edge of each of 1, 2, … R rings: in whole
                                            packets, or where there are buckets as they are
candidate         int64    (O, K, 3)        allowed (batch index, channel index, channel dim)
edge_ends         int64    (G, 2)           producer, consumer
first_in, in_edge int64    (O+1,), (G,)     edges into an operator (CSR); first_out, out_edge: out of it
row_first         int64    (rows+1,)        route entries of a pair (CSR); rows are pairs src·n + dst, or for
                                            circulants distances (dst - src) mod n
entry             int32    (E, 2)           link, 0; or for circulants the link's source seen from the pair's
                                            source, and which link of it
entry_share       float64  (E,)             fraction of the pair's bytes on that link
row_hops          float64  (rows,)          mean links of the pair's paths
link_of           int32    (n, d) (1, 1)    link of (source, coin) for circulants; shape (1, 1) otherwise
next_link         int32    (n, nodes)       link out of a node towards a server, where no links of pairs are listed
                                            since there are too many; shape (1, 1) otherwise
link_dst          int32    (L,)             where each link leads
seconds_per_byte  float64  (L,)             8 / bandwidth
fan_out           float64  (n, 2, L)        seconds on each link when a server sends a byte to every other one,
                                            and when it gets one from each; shape (1, 1, 1) where not kept
fan_hops          float64  (n,)             mean hops of the farthest pair that a server is an end of
group_first       int64    (D,)             first group of a degree; the group with start s is s rows on
group_rings       int64    (groups,)        rings of a group, 0 for a single server
group_overhead_s  float64  (groups,)        fixed time of one AllReduce
crossing_first    int64    (groups+1,)      crossings of a group's rings (CSR)
crossing_link     int32    (crossings,)     the link crossed, once for each time
----------------  -------  ---------------  --------------------------------------------------------------
config            int64    (O, 4)           index of batch degree, index of channel degree, channel dim, start
best_config       int64    (O, 4)           the best seen
times_s           float64  (2,)             iteration time of ``config`` and of the best; negative: not known yet
random            uint64   (1,)             state of the random numbers
edge_load         float64  (2, G, 2, L)     seconds on each link, forward and backward; two slots
edge_overhead_s   float64  (2, G)           fixed time of an edge's transfers; negative: nothing moves
reduce_load       float64  (2, O, L)        seconds on each link of an operator's AllReduces; two slots
slot              int64    (2, G or O)      current slot of each edge (row 0) and operator (row 1)
before, changed   int64    (O, 4), (O,)     the configuration before a proposal; whether it differs, by operator
on_server         float64  (n,)             room to work in: seconds or bytes of each server
on_accelerator    float64  (n, a)           the same: bytes of tables on each accelerator
finish            float64  (O, n)           when each part ends, of the forward pass, then of the backward pass
on_link           float64  (2, L)           when each link is free; time on it of an operator's exchanges
of_operator       float64  (5, O)           when its last part ends, or bytes of its tables; when its AllReduce is
                                            ready; by groups of replicas: bytes in their bucket, seconds that these
                                            are reduced in servers, when all of them are ready
order             int64    (O,)             operators in order: of tables, or of AllReduces that wait
arrived           float64  (G,)             when each edge's backward exchange ends
of_edges          int64    (2, G+1)         operators whose parts are local, ended by -1; edges by readiness
in_line           int64    (5, O)           operators by readiness; edges that each still waits for; by groups of
                                            replicas, in the order in which they first had a bucket: the newest
                                            operator in it; by operator: the one before it in its bucket; by groups:
                                            whether they have had a full bucket
due_s             float64  (O,)             when the latest of these that are done was
================  =======  ===============  ==============================================================

A channel dim is 0 none, 1 out, 2 in, 3 rows, 4 columns.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints

WIDTH, KIND, IS_TABLE, CANDIDATES = 0, 1, 2, 3
FORWARD_S, BACKWARD_S = 0, 1
RING_DELAY_S = 2  # intra-server AllReduce before the one over servers
OUTPUT_BYTES = 3  # activations on each accelerator of the part's server, of all channels
STATE_BYTES = 4  # parameters, gradients and optimizer there
TABLE_BYTES = 5  # of a placed table's part, on one accelerator
GRADIENT_BYTES = 6  # of a part, AllReduced


class Problem(NamedTuple):
    """Everything that does not change during a search; see the table above."""

    servers: int
    global_batch: int
    memory_limit_bytes: float
    hop_overhead_s: float
    bucket_bytes: float
    first_bucket_bytes: float
    divisors: Ints
    operator: Ints
    cost: Floats
    ring_bytes: Floats
    candidate: Ints
    edge_ends: Ints
    first_in: Ints
    in_edge: Ints
    first_out: Ints
    out_edge: Ints
    row_first: Ints
    entry: NDArray[np.int32]
    entry_share: Floats
    row_hops: Floats
    link_of: NDArray[np.int32]
    next_link: NDArray[np.int32]
    link_dst: NDArray[np.int32]
    seconds_per_byte: Floats
    fan_out: Floats
    fan_hops: Floats
    group_first: Ints
    group_rings: Ints
    group_overhead_s: Floats
    crossing_first: Ints
    crossing_link: NDArray[np.int32]


class State(NamedTuple):
    """State that a proposal changes; caches follow ``config``, and from ``before`` on there is only scratch space."""

    config: Ints
    best_config: Ints
    times_s: Floats
    random: NDArray[np.uint64]
    edge_load: Floats
    edge_overhead_s: Floats
    reduce_load: Floats
    slot: Ints
    before: Ints
    changed: Ints
    on_server: Floats
    on_accelerator: Floats
    finish: Floats
    on_link: Floats
    of_operator: Floats
    order: Ints
    arrived: Floats
    of_edges: Ints
    in_line: Ints
    due_s: Floats


def new_state(problem: Problem, config: Ints, accelerators: int) -> State:
    """Return the state of a configuration, nothing computed yet; ``accelerators`` is the number in a server."""
    ops, edges, links = len(problem.operator), len(problem.edge_ends), len(problem.seconds_per_byte)
    return State(
        config=config,
        best_config=config.copy(),
        times_s=np.full(2, -1.0),
        random=np.ones(1, np.uint64),
        edge_load=np.zeros((2, edges, 2, links)),
        edge_overhead_s=np.zeros((2, edges)),
        reduce_load=np.zeros((2, ops, links)),
        slot=np.zeros((2, max(edges, ops)), np.int64),
        before=np.zeros((ops, 4), np.int64),
        changed=np.zeros(ops, np.int64),
        on_server=np.zeros(problem.servers),
        on_accelerator=np.zeros((problem.servers, accelerators)),
        finish=np.zeros((ops, problem.servers)),
        on_link=np.zeros((2, links)),
        of_operator=np.zeros((5, ops)),
        order=np.zeros(ops, np.int64),
        arrived=np.zeros(edges),
        of_edges=np.zeros((2, edges + 1), np.int64),
        in_line=np.zeros((5, ops), np.int64),
        due_s=np.zeros(ops),
    )
