"""Wirings that a deployment is tried on: those of all servers alike, full meshes, ports between pools, by demand."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import Infeasible, InvalidInput, NoRoute
from topoopt.catalog import ClusterSpec
from topoopt.finder import find_topology, named_wiring, wirings_of
from topoopt.inference.network.placement import Placement
from topoopt.inference.network.wired_pairs import pair_wiring
from topoopt.topologies import DirectWiring, Topology, wiring_of_arcs
from topoopt.workloads import Traffic

MOST_FAMILIES = 3
"""Families of wirings that are tried, those of fewest hops first."""


def candidate_wirings(cluster: ClusterSpec, placement: Placement, demand: Traffic) -> Iterator[DirectWiring]:
    """Yield wirings of the servers that a deployment uses, each with every server connected.

    Parameters
    ----------
    demand : Traffic
        What is sent where keys and values go anywhere; the topology finder wires one for it.
    """
    n, degree = placement.servers, cluster.degree
    pools = _pools(placement)
    prefill, decode = pools or (np.arange(n), np.zeros(0, np.int64))
    for name in wirings_of(n, degree, "duplex")[:MOST_FAMILIES]:
        try:
            yield named_wiring(name, n, degree, "duplex")
        except Infeasible:
            continue
    if degree >= n - 1:
        yield pair_wiring(prefill, decode, n, degree, 0, mesh=True)
    for across in range(1, degree + 1) if pools else ():
        try:
            yield pair_wiring(prefill, decode, n, degree, across)
        except Infeasible:
            continue
    found = _found(cluster, demand)
    if found is not None:
        yield found


def _pools(placement: Placement) -> tuple[Ints, Ints] | None:
    """Return the servers of prefill and of decode, None where there is no prefill pool, or some server has both."""
    prefill, decode = np.unique(placement.prefill), np.unique(placement.decode)
    if not len(placement.prefill) or np.intersect1d(prefill, decode).size:
        return None
    return prefill, decode


def _found(cluster: ClusterSpec, demand: Traffic) -> DirectWiring | None:
    """Return what TopologyFinder wires, None where the demand asks for nothing or cannot be wired."""
    if not (len(demand.transfers) or demand.allreduce):
        return None
    try:
        fabric = find_topology(demand, degree=cluster.degree, bandwidth_bps=cluster.link_bandwidth_bps)
    except (InvalidInput, Infeasible, NoRoute):
        return None
    return wiring_of_topology(fabric.topology, cluster.degree)


def wiring_of_topology(topology: Topology, degree: int) -> DirectWiring:
    """Return the cables of a topology of servers alone, one for each port that two servers spend on each other."""
    src, dst = (np.repeat(end, topology.ports).astype(np.int64) for end in (topology.src, topology.dst))
    return wiring_of_arcs("by demand", "duplex", topology.servers, degree, (src, dst))
