"""Graphs of accelerators and switches, such as a server with NVSwitches and NICs, as topologies."""

import re
from collections.abc import Mapping
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.topologies.metrics import hops_from
from topoopt.topologies.topology import Topology, topology_from_arrays
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignNode, bandwidth_of_each

_KINDS = ("type", "kind", "role", "node_type", "device", "device_type", "category", "class")
_SWITCHES = re.compile(
    r".*switch.*|router|leaf|spine|tor|ocs|core|aggregation|nic|hca|patch.?panel|panel", re.IGNORECASE
)
_SWITCH_NAME = re.compile(
    r"(?:(?:^|.*[^a-z])(?:tor|leaf|spine|router|nic|hca|mlx\d*|(?:nv|ib)?switch)|.*[^a-z]ib)[-_. ]?\d*",
    re.IGNORECASE,
)
MOST_PORTS = 4096
"""Ports of a link: its bandwidth as a multiple of the largest that divides all."""
UNIT_BPS = 1e6
MOST_INSIDE = 3
"""Tiers of switches inside a server."""


def is_switch(name: str, says: Mapping[str, Any]) -> bool:
    """Return whether a node forwards only: a switch, a router, a panel or a NIC, by its attributes or its name."""
    kinds = [value for word, value in says.items() if word.lower() in _KINDS and isinstance(value, str)]
    return any(_SWITCHES.fullmatch(kind.strip()) for kind in kinds) or bool(_SWITCH_NAME.fullmatch(name))


def of_whole_servers(graph: ForeignGraph) -> ForeignGraph:
    """Return a graph in which accelerators that say they are of one ``server`` are one node.

    Switches, NICs and links inside a server are left out, so that the network between servers remains.
    """
    server = {node.name: f"server {node.says['server']}" for node in graph.nodes if "server" in node.says}
    if not server:
        return graph
    says = {node.name: node.says for node in graph.nodes}
    inside = dict(server)
    for _ in range(MOST_INSIDE):  # a switch that joins parts of one server only is inside it
        around: dict[str, set[str]] = {}
        for link in graph.links:
            for one, other in (link.ends, link.ends[::-1]):
                around.setdefault(one, set()).add(inside.get(other, other))
        found = {
            name: next(iter(ends))
            for name, ends in around.items()
            if name not in inside and len(ends) == 1 and is_switch(name, says.get(name, {}))
        }
        if not found:
            break
        inside |= found
    names = dict.fromkeys(inside.get(node.name, node.name) for node in graph.nodes)
    nodes = tuple(ForeignNode(graph.syntax, name, says.get(name, {})) for name in names)
    ends = [(link, tuple(inside.get(end, end) for end in link.ends)) for link in graph.links]
    links = tuple(replace(link, ends=(a, b)) for link, (a, b) in ends if a != b)
    return replace(graph, nodes=nodes, links=links)


def switched_topology(graph: ForeignGraph, usual_bps: float, latency_s: float) -> Topology | None:
    """Return a graph with its accelerators as servers, in the order of the file; None if it has no switch.

    A port has the largest bandwidth of which all links are multiples, and a link as many ports as it takes.

    Parameters
    ----------
    usual_bps
        Bandwidth of a link where the file says none.

    Raises
    ------
    InvalidInput
        For fewer than two accelerators, some that cannot reach others, bandwidths without a common measure, and a
        switch that can send more than it receives.
    """
    says = {node.name: node.says for node in graph.nodes}
    names = [*dict.fromkeys([*says, *(end for link in graph.links for end in link.ends)])]
    switches = {name for name in names if is_switch(name, says.get(name, {}))}
    if not switches or len(switches) == len(names):
        return None
    servers = len(names) - len(switches)
    if servers < 2:
        raise InvalidInput(f"joins {servers} accelerators by {len(switches)} switches; expected at least 2")
    place = {name: number for number, name in enumerate(sorted(names, key=switches.__contains__))}
    src, dst = np.array([[place[end] for end in link.ends] for link in graph.links], np.int64).T
    each_bps = bandwidth_of_each(graph.links)
    rate = np.full(len(src), usual_bps) if each_bps is None else each_bps
    whole = np.rint(rate / UNIT_BPS).astype(np.int64)
    unit = gcd(*whole.tolist())
    if (
        not unit
        or whole.max() > MOST_PORTS * unit
        or np.abs(whole * UNIT_BPS - rate).max() > 1e-6 * rate.min()
    ):
        raise InvalidInput(
            f"links have bandwidths that no port divides, from {rate.min():g} to {rate.max():g} b/s; give multiples "
            f"of one of at least 1/{MOST_PORTS} of the largest"
        )
    if not graph.directed:
        src, dst, whole = np.concatenate([src, dst]), np.concatenate([dst, src]), np.tile(whole, 2)
    ports = whole // unit
    into, out = (np.bincount(end, ports, len(names)) for end in (dst, src))
    for name in switches:
        if into[place[name]] != out[place[name]]:
            raise InvalidInput(
                f"switch {name} receives {into[place[name]]:g} and sends {out[place[name]]:g} ports"
            )
    src, dst = np.repeat(src, ports), np.repeat(dst, ports)
    made = topology_from_arrays("given", servers, src, dst, unit * UNIT_BPS, latency_s, len(names))
    hops = hops_from(made, np.array([0]))[0, :servers]
    if (hops < 0).any():
        ordered = sorted(names, key=switches.__contains__)
        raise InvalidInput(
            f"{ordered[0]} cannot reach {ordered[int(np.argmin(hops))]}; join all parts of the graph"
        )
    return made
