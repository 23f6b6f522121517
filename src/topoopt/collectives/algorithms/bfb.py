"""An AllReduce by breadth-first broadcast on the links that a group of servers has among itself, as transfers.

The all-gather of breadth-first broadcast, as steps of transfers.

References
----------
.. [1] L. Zhao et al., "Efficient Direct-Connect Topologies for Collective Communications", NSDI 2025: breadth-first
   broadcast.
"""

import numpy as np

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.collectives.schedule import (
    MOST_RANKS,
    Algorithm,
    Transfers,
    one_after_the_other,
)
from topoopt.topologies import (
    Sent,
    Topology,
    WiringInLinks,
    all_joined,
    broadcast_steps,
    lay_broadcast,
    links_among,
    reversed_links,
)


def broadcast_transfers(topology: Topology, members: tuple[int, ...]) -> Transfers | None:
    """Return the AllReduce chunk by chunk, rank r the r-th member; None where the group's own links do not join it."""
    if len(members) > MOST_RANKS:
        return None
    everyone = topology.nodes == topology.servers and members == tuple(range(topology.servers))
    inside = topology if everyone else links_among(topology, members)
    if inside is None:
        return None
    try:
        return allreduce_by_broadcast(inside)
    except (InvalidInput, NoRoute):  # of links unlike each other, one way only, or too many
        return None


ALGORITHM = Algorithm(collective="allreduce", on_links=broadcast_transfers, order=80)


def allreduce_by_broadcast(topology: Topology) -> Transfers:
    """Return the AllReduce of all servers of a wiring, chunk by chunk."""
    ports = int(max(np.bincount(ends, topology.ports).max() for ends in (topology.src, topology.dst)))
    back = reversed_links(topology)
    same = all(
        np.array_equal(getattr(back, name), getattr(topology, name)) for name in ("src", "dst", "ports")
    )
    parts = [broadcast_steps(wiring, ports) for wiring in ((topology,) if same else (topology, back))]
    chunks = max(part.chunks for part in parts)
    gather = broadcast_schedule(topology, chunks)
    scatter = (gather if same else broadcast_schedule(back, chunks)).backwards()
    return one_after_the_other(scatter, gather)


def broadcast_schedule(topology: Topology, chunks: int) -> Transfers:
    """Return the all-gather itself, with every shard cut into chunks.

    Chunk c belongs to server ``c // chunks``. With :attr:`BroadcastSteps.chunks` of them, the load of the fullest
    port in each step is minimal, rounded up to whole chunks.
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
    n, src, dst = topology.servers, topology.src.astype(np.int64), topology.dst.astype(np.int64)
    none, all_chunks = np.zeros(len(src), np.int64), np.full(len(src), chunks)
    return Transfers(
        "bfb", "all-gather", n, n * chunks, none, src, dst, src * chunks, all_chunks, none.astype(np.bool_)
    )
