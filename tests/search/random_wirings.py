"""Wirings of all kinds, drawn at random, and changed a little at a time: what tries to beat the bounds."""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.catalog import ClusterSpec
from topoopt.finder import lay_rings
from topoopt.routing import Fabric, make_routes
from topoopt.topologies import WIRING_FAMILIES, Topology, hops_from, topology_from_arrays
from topoopt.workloads.traffic import Traffic

Rng = np.random.Generator


def random_arcs(cluster: ClusterSpec, rng: Rng) -> tuple[Ints, Ints]:
    """Return the fibers of a wiring that joins all servers: rings, matchings, or members of any family."""
    families = [
        row for row in WIRING_FAMILIES.values() if row.exists(cluster.servers, cluster.degree, cluster.links)
    ]
    if families and rng.random() < 0.5:
        row = families[rng.integers(len(families))]
        members = list(row.build(cluster.servers, cluster.degree, cluster.links))
        arcs = members[rng.integers(len(members))].arcs
    else:
        arcs = _rings(cluster, rng)
        for _ in range(int(rng.integers(0, 40))):
            arcs = swapped(cluster, arcs, rng)
    return arcs if is_joined(cluster, arcs) else _rings(cluster, rng)


def _rings(cluster: ClusterSpec, rng: Rng) -> tuple[Ints, Ints]:
    """Return random Hamiltonian cycles; an odd interface is one of a matching."""
    servers, both = cluster.servers, cluster.links == "duplex"
    cycles = max(cluster.degree // 2 if both else cluster.degree, 1)
    orders = [rng.permutation(servers) for _ in range(cycles)]
    src, dst = np.concatenate(orders), np.concatenate([np.roll(order, -1) for order in orders])
    if both and cluster.degree % 2 and cluster.degree > 1:
        pairs = rng.permutation(servers)[: servers // 2 * 2].reshape(-1, 2)
        src, dst = np.concatenate([src, pairs[:, 0]]), np.concatenate([dst, pairs[:, 1]])
    return (np.concatenate([src, dst]), np.concatenate([dst, src])) if both else (src, dst)


def swapped(cluster: ClusterSpec, arcs: tuple[Ints, Ints], rng: Rng) -> tuple[Ints, Ints]:
    """Return the fibers with the ends of two of them swapped (of two cables, both fibers); as they are if they met."""
    src, dst = arcs
    if cluster.links == "duplex":
        half = src < dst
        src, dst = src[half], dst[half]
    one, other = rng.choice(len(src), 2, replace=False)
    new = dst.copy()
    new[[one, other]] = dst[[other, one]]
    if (new[[one, other]] == src[[one, other]]).any():
        return arcs
    return (
        (np.concatenate([src, new]), np.concatenate([new, src])) if cluster.links == "duplex" else (src, new)
    )


def is_joined(cluster: ClusterSpec, arcs: tuple[Ints, Ints]) -> bool:
    """Return whether every server reaches every other."""
    topology = topology_from_arrays("random", cluster.servers, *arcs, 1.0, 0.0)
    return bool((hops_from(topology, np.arange(cluster.servers)) >= 0).all())


def topology_of(cluster: ClusterSpec, arcs: tuple[Ints, Ints]) -> Topology:
    """Return the links of a wiring; no server has more interfaces than the cluster's."""
    bandwidth_bps, latency_s = cluster.link_bandwidth_bps, cluster.link_latency_s
    topology = topology_from_arrays("random", cluster.servers, *arcs, bandwidth_bps, latency_s)
    for end in (topology.src, topology.dst):
        assert np.bincount(end, topology.ports).max() <= cluster.degree
    return topology


def fabric_of(cluster: ClusterSpec, arcs: tuple[Ints, Ints], traffic: Traffic, rng: Rng) -> Fabric:
    """Return a fabric with routes of a random method, and rings of the traffic's groups, found or in any order."""
    topology = topology_of(cluster, arcs)
    routes = make_routes(str(rng.choice(["single-shortest", "ecmp", "k-shortest"])), topology)
    rings = {
        group.members: lay_rings(topology, routes, group.members, cluster.degree, int(rng.integers(9)))
        for group in traffic.allreduce
        if rng.random() < 0.8
    }
    return Fabric("random", topology, routes, rings)
