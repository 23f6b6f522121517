"""An AllReduce by breadth-first broadcast on the links that a group of servers has among itself, as transfers."""

from functools import lru_cache

import numpy as np

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.collectives.broadcast_schedule import broadcast_schedule
from topoopt.collectives.moves import MOST_RANKS, Moves, merged, pipelined
from topoopt.collectives.transfers import Transfers, one_after_the_other
from topoopt.topologies import Topology, broadcast_steps, reversed_links, topology_from_arrays

PIPELINES = (1, 2, 4, 8)
"""Parts of a message that follow each other a step apart: where steps load links unevenly, what one leaves free the
next one takes."""


@lru_cache(maxsize=32)
def broadcast_moves(topology: Topology, members: tuple[int, ...]) -> tuple[Moves, ...]:
    """Return the AllReduce in one or several parts; none where the group's own links do not join it.

    A reduce-scatter, which is an all-gather over the links turned around and played backwards, and an all-gather.
    """
    whole = broadcast_transfers(topology, members)
    if whole is None:
        return ()
    server = np.array(members, np.int64)
    shards = Moves(whole.step, server[whole.src], server[whole.dst], whole.count, whole.chunks)
    once = merged(shards)
    return tuple(pipelined(once, parts) for parts in PIPELINES)


def broadcast_transfers(topology: Topology, members: tuple[int, ...]) -> Transfers | None:
    """Return the AllReduce chunk by chunk, rank r the r-th member; None where the group's own links do not join it."""
    inside = _inside(topology, members)
    if inside is None:
        return None
    try:
        return allreduce_by_broadcast(inside)
    except (InvalidInput, NoRoute):  # of links unlike each other, one way only, or too many
        return None


def _inside(topology: Topology, members: tuple[int, ...]) -> Topology | None:
    """Return the links with both ends in a group, its members numbered from 0."""
    if len(members) > MOST_RANKS:
        return None
    if topology.nodes == topology.servers and members == tuple(range(topology.servers)):
        return topology
    place = np.full(topology.nodes, -1)
    place[list(members)] = np.arange(len(members))
    src, dst = place[topology.src], place[topology.dst]
    own = (src >= 0) & (dst >= 0)
    if not own.any():
        return None
    ports = topology.ports[own]

    return topology_from_arrays(
        topology.family,
        len(members),
        np.repeat(src[own], ports),
        np.repeat(dst[own], ports),
        np.repeat(topology.bandwidth_bps[own] / ports, ports),
        np.repeat(topology.latency_s[own], ports),
    )


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
