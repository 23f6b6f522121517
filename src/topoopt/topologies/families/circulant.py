"""The circulant family: every server has a link along the same strides; what TopologyFinder builds."""

from collections.abc import Sequence

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.topologies.families.family import check_numbers
from topoopt.topologies.topology import DEFAULT_LATENCY_S, Topology, topology_from_arrays

LINK_MODELS = ("duplex", "directed")


def circulant(
    servers: int,
    strides: Sequence[int],
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    links: str = "duplex",
) -> Topology:
    """Return the graph in which server i has a link to i + p for each stride p.

    In ``duplex`` mode every stride is a cable between i and i + p, so it is used as +p and as -p and
    takes two interfaces of a server, except p = n/2, which takes one. In ``directed`` mode a stride is a
    fiber one way and takes one interface. A repeated stride gives parallel links.

    Raises
    ------
    InvalidInput
        If a stride is a multiple of ``servers``, or there is none.

    Examples
    --------
    >>> circulant(12, (1, 5), 25e9).offsets
    (1, 5, 7, 11)
    """
    check_numbers("circulant", servers, 1, bandwidth_bps, latency_s)
    offsets = np.array(stride_offsets(servers, strides, links), np.int64)
    src = np.tile(np.arange(servers), len(offsets))
    dst = (src + np.repeat(offsets, servers)) % servers
    steps = tuple(np.unique(offsets).tolist())
    return topology_from_arrays("circulant", servers, src, dst, bandwidth_bps, latency_s, offsets=steps)


def stride_offsets(servers: int, strides: Sequence[int], links: str) -> list[int]:
    """Return the steps in 1..n-1 along which a server has a link out; repeats are parallel links.

    Examples
    --------
    >>> stride_offsets(12, (1, 6), "duplex"), stride_offsets(12, (1, 6), "directed")
    ([1, 11, 6], [1, 6])
    """
    check_known("links", links, LINK_MODELS)
    if not strides:
        raise InvalidInput("circulant: no stride given; give at least one, such as 1")
    offsets = []
    for stride in strides:
        step = stride % servers
        if step == 0:
            raise InvalidInput(
                f"circulant: stride {stride} joins a server to itself; use 1..{servers - 1} for n={servers}"
            )
        offsets.append(step)
        if links == "duplex" and 2 * step != servers:
            offsets.append(servers - step)
    return offsets


def links_along(topology: Topology, steps: Sequence[int]) -> Ints:
    """Return the link along each step out of each server, shape (servers, steps); -1 where there is none."""
    src = np.arange(topology.servers)[:, None]
    return topology.link_ids(src, (src + np.array(steps, np.int64)) % topology.servers)


def circulant_offsets(topology: Topology) -> tuple[int, ...]:
    """Return the offsets of a topology that happens to be a circulant, else an empty tuple.

    Every server must have equally many ports and equal bandwidth along each offset, and no switch exists.
    """
    servers = topology.servers
    if topology.nodes != servers or not len(topology):
        return ()
    step = (topology.dst.astype(np.int64) - topology.src) % servers
    order = np.argsort(step, kind="stable")
    offsets, counts = np.unique(step, return_counts=True)
    if (counts != servers).any():
        return ()
    runs = [values[order].reshape(-1, servers) for values in (topology.ports, topology.bandwidth_bps)]
    alike = all((run == run[:, :1]).all() for run in runs)
    return tuple(offsets.tolist()) if alike else ()
