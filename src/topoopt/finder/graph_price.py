"""The price of a fabric by its graph: a switch for each switch, modules and fiber for each cable."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from topoopt.base.units import format_bandwidth
from topoopt.catalog import DEFAULT_LATENCY_S, Network
from topoopt.pricing import (
    Buying,
    Counted,
    FabricPrice,
    GraphPorts,
    Interfaces,
    Realization,
    Site,
    parts_of_graph,
)
from topoopt.topologies import Topology, in_planes


def graph_price(wire: Callable[..., Topology], plane_ports: int | None = None) -> FabricPrice:
    """Return the price of the graph that a function of servers, ports and bandwidth makes, switch by switch.

    Parameters
    ----------
    wire : function of (servers, ports per server, bandwidth of a port) to Topology
    plane_ports : int, optional
        Ports of a server on one of equal planes, of which there are enough for all ports; by default one has all.
    """

    def ports(size: Interfaces) -> GraphPorts:
        on_one = plane_ports or size.degree
        graph = wire(size.servers, on_one, size.bandwidth_bps)
        return ports_of(graph, -(-size.degree // on_one))

    def count(buying: Buying) -> Counted:
        return parts_of_graph(buying, ports(buying.interfaces))

    def realize(site: Site) -> Realization:
        found = ports(site.interfaces)
        counts = Counter[int]()
        for (cables, _), count in found.switches.items():
            counts[cables] += count
        rows = ", ".join(f"{count} with {cables}" for cables, count in sorted(counts.items()))
        speed = format_bandwidth(found.bandwidth_bps)
        return Realization(site.fabric, remarks=(f"switches by their cables of {speed}: {rows}",))

    return FabricPrice(count=count, realize=realize)


def network_of_planes(
    plane: Callable[..., Topology], name: str, label: str, description: str, **more: Any
) -> Network:
    """Return a network that joins one port of every server by each of equal planes of switches.

    Parameters
    ----------
    plane : function of (servers, bandwidth of a port, latency) and settings to Topology
        It may take a ``seed``, and ``switches``, without which parallel switches are one node.
    """
    words = set(signature(plane).parameters)

    def wire(
        servers: int,
        degree: int,
        bandwidth_bps: float,
        latency_s: float = DEFAULT_LATENCY_S,
        seed: int = 0,
        **settings: Any,
    ) -> Topology:
        every = settings.pop("switches", False)
        if "seed" in words:
            settings["seed"] = seed
        if not every:
            return plane(servers, degree * bandwidth_bps, latency_s, **settings)
        if "switches" in words:
            settings["switches"] = True
        return in_planes(plane(servers, bandwidth_bps, latency_s, **settings), degree)

    settings = frozenset(more.pop("settings", ())) | {"switches"}
    return Network(
        name=name,
        label=label,
        description=description,
        price=partial(graph_price, partial(wire, switches=True), 1),
        wire=wire,
        settings=settings,
        switched=True,
        trunks=True,
        closed_form=False,
        **more,
    )


def ports_of(graph: Topology, planes: int = 1) -> GraphPorts:
    """Return the ends of the cables of equal graphs, at their switches and their servers."""
    each_bps = graph.bandwidth_bps / graph.ports
    unit_bps = float(each_bps[graph.src < graph.servers].min())
    cables = graph.ports * np.maximum(np.ceil(each_bps / unit_bps - 1e-6), 1)
    to_server = np.where(graph.dst < graph.servers, cables, 0)
    ends, below = (
        np.rint(np.bincount(graph.src, each, graph.nodes)).astype(np.int64) for each in (cables, to_server)
    )
    rows = zip(ends[graph.servers :].tolist(), below[graph.servers :].tolist(), strict=True)
    switches = {ports: planes * count for ports, count in Counter(rows).items() if ports[0]}
    return GraphPorts(switches, planes * int(ends[: graph.servers].sum()), unit_bps)


def least_ports(graph: Topology) -> int:
    """Return the ports of the server that has the fewest."""
    return int(np.bincount(graph.src, graph.ports, graph.nodes)[: graph.servers].min())


def port_bps(graph: Topology) -> float:
    """Return the bandwidth of the slowest port."""
    return float((graph.bandwidth_bps / graph.ports).min())
