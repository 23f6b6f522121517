"""What servers have on each fabric, as the estimate of operators knows it: ports, and how far bytes go between them."""

from topoopt.catalog import ClusterSpec
from topoopt.finder import wired_interfaces
from topoopt.frontends.web.fabric_rules import DIRECT, OVERSUBSCRIPTION, OWN, FabricRule
from topoopt.search import PortNetwork
from topoopt.topologies import fat_tree_arity, moore_average_hops

MOST_NEAR_PORTS = 2
"""Ports that are kept for the parts of a layer, as the two degree splits for them do."""


def port_networks(rule: FabricRule, cluster: ClusterSpec, parts: int) -> tuple[PortNetwork, ...]:
    """Return the ways in which a fabric may be wired for a strategy whose layers are split in so many parts."""
    ports, bandwidth_bps, latency_s = rule.interfaces, rule.bandwidth_bps, cluster.link_latency_s
    if rule.key == OWN:
        return tuple(_in_parts(rule, cluster, parts)) or (_of_all(rule, cluster),)
    if rule.key in DIRECT:
        return (_of_all(rule, cluster),)
    if rule.key == "rail":
        return (PortNetwork(ports, ports, bandwidth_bps, latency_s, 2),)
    if rule.key == "oversub-fat-tree":
        return (_thin(cluster, ports * bandwidth_bps, parts),)
    return (PortNetwork(1, 1, ports * bandwidth_bps, latency_s, 2),)


def _of_all(rule: FabricRule, cluster: ClusterSpec) -> PortNetwork:
    """Return all ports in one wiring of all servers: rings pass no other server, all else the least mean of hops.

    Three matchings that make a ring by twos carry rings on an odd number of ports, too; a random graph has none such.
    """
    n = cluster.servers
    ports = rule.interfaces - (rule.interfaces % 2 if n % 2 else 0)  # a cable has two ends
    rings = ports - (ports % 2 if n > 2 and rule.key != OWN else 0)
    hops = moore_average_hops(n, ports, cluster.links)
    return PortNetwork(ports, max(rings, 1), rule.bandwidth_bps, cluster.link_latency_s, 1, hops, 1.0, hops)


def _in_parts(rule: FabricRule, cluster: ClusterSpec, parts: int) -> list[PortNetwork]:
    """Return wirings that keep ports for the parts of a layer, and give the others to the replicas of each part."""
    found = []
    for near in range(1, MOST_NEAR_PORTS + 1) if parts > 1 else ():
        replicas, ports = cluster.servers // parts, rule.interfaces - near
        rings = wired_interfaces(replicas, ports, cluster.links)
        if rings < 1 or (near == 1 and parts > 2):  # one port joins two
            continue
        hops = moore_average_hops(replicas, rings, cluster.links)
        near_hops = moore_average_hops(parts, near, cluster.links)
        found.append(
            PortNetwork(
                rings,
                rings,
                rule.bandwidth_bps,
                cluster.link_latency_s,
                1,
                hops,
                1.0,
                1.0,
                parts,
                near,
                near_hops,
            )
        )
    return found


def _thin(cluster: ClusterSpec, bandwidth_bps: float, parts: int) -> PortNetwork:
    """Return a fat-tree that is thin above its first switches, which racks of servers next to each other share."""
    n, rack = cluster.servers, fat_tree_arity(cluster.servers) // 2
    inside = (min(rack, n) - 1) / (n - 1)
    crossing = sum(
        i // rack != j // rack
        for first in range(0, n - parts + 1, parts)
        for i in range(first, first + parts)
        for j in range(first, first + parts)
    )
    return PortNetwork(
        1,
        1,
        bandwidth_bps,
        cluster.link_latency_s,
        4,
        OVERSUBSCRIPTION * (1 - inside),
        OVERSUBSCRIPTION / rack,
        OVERSUBSCRIPTION * min(parts / rack, 1.0),
        near=parts,
        near_hops=OVERSUBSCRIPTION * crossing / max(n * (parts - 1), 1),
    )
