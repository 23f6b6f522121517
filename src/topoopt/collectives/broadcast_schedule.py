"""The all-gather of breadth-first broadcast, as steps of transfers.

References
----------
.. [1] L. Zhao et al., "Efficient Direct-Connect Topologies for Collective Communications", NSDI 2025: breadth-first
   broadcast.
"""

import numpy as np

from topoopt.collectives.transfers import Transfers
from topoopt.topologies import Sent, Topology, WiringInLinks, all_joined, lay_broadcast


def broadcast_schedule(topology: Topology, chunks: int) -> Transfers:
    """Return the all-gather itself, with every shard cut into so many chunks.

    Chunk c is of server ``c // chunks``. With :attr:`BroadcastSteps.chunks` of them, the fullest port carries in each
    step what it must, or where that is no whole chunk, the next whole one.
    """
    if all_joined(topology):
        return _direct(topology, chunks)
    wiring = WiringInLinks.of(topology)
    seen, room = wiring.flow_room()
    rows = np.empty((5, topology.servers * (topology.servers + wiring.widest)), np.int64)
    server, used = 0, 0
    while server < topology.servers:
        spare = (topology.servers + 1) * (wiring.widest + 1)
        rows = np.concatenate([rows, np.empty((5, spare), np.int64)], axis=1)
        server, used = lay_broadcast(wiring.rows, server, chunks, seen, room, used, Sent(*rows))
    step, link, shard, first, count = rows[:, :used]
    n = topology.servers
    moved = Transfers(
        "bfb",
        "all-gather",
        n,
        n * chunks,
        step.copy(),
        wiring.src[link].astype(np.int64),
        wiring.dst[link].astype(np.int64),
        shard * chunks + first,
        count.copy(),
        np.zeros(used, np.bool_),
    )
    return moved.in_order()


def _direct(topology: Topology, chunks: int) -> Transfers:
    """Return the one step of a full mesh."""
    n, src, dst = topology.servers, topology.src.astype(np.int64), topology.dst.astype(np.int64)
    none, all_chunks = np.zeros(len(src), np.int64), np.full(len(src), chunks)
    return Transfers(
        "bfb", "all-gather", n, n * chunks, none, src, dst, src * chunks, all_chunks, none.astype(np.bool_)
    )
