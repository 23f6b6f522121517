"""Networks that are not in the registry: graph files, and fabrics of the registry with settings of one's own.

Their links are those of the file or of the settings, and their bill has a switch for each switch of the graph.
"""

import os
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.catalog import DEFAULT_LATENCY_S, NETWORKS, Network, Sizing
from topoopt.finder.graph_price import graph_price, least_ports, port_bps
from topoopt.pricing import Buying, FabricPrice, Interfaces, Site
from topoopt.topologies import Topology
from topoopt.topologies.wirings import read_fabric_graph

T = TypeVar("T", Buying, Site)
KEPT = 64
"""Described networks that are kept."""
USUAL_BPS = 100e9
"""Bandwidth by which a graph without bandwidths is read before that of a cluster is known."""


def described_network(name: str) -> Network:
    """Return the network of a graph file, or a fabric with settings, such as ``oversub-fat-tree:oversubscription=4``.

    Raises
    ------
    InvalidInput
        In one line, if the file cannot be read or joins its servers without a switch, and for an unknown setting.
    """
    if "=" in name:
        return _with_settings(name)
    try:
        stamp = os.stat(name).st_mtime_ns
    except OSError as error:
        raise InvalidInput(f"fabric {name}: {error.strerror}; name a fabric or a graph file") from None
    return _of_file(name, stamp)


@lru_cache(KEPT)
def _with_settings(name: str) -> Network:
    base, *pairs = name.split(":")
    if base not in NETWORKS or "=" in base:
        raise unknown_name("fabric", base, NETWORKS)
    network, settings = NETWORKS[base], dict[str, float]()
    known = sorted(network.settings - {"switches"}) if network.wire is not None else []
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key not in known:
            takes = f"known: {', '.join(known)}" if known else "it has none"
            raise InvalidInput(f'fabric {base}: unknown setting "{key}"; {takes}')
        if key in settings:
            raise InvalidInput(f"fabric {name}: {key} stands twice; give it once")
        settings[key] = _number(name, key, value)
    said = ", ".join(f"{key.replace('_', ' ')} {value:g}" for key, value in settings.items())
    wire = partial(network.wire, **settings)
    ratio = settings.get("oversubscription", network.oversubscription)
    price = network.price
    if network.switched and network.oversubscription > 1 and len(settings) == 1 and ratio >= 1:
        price = partial(_oversubscribed, network, ratio)
    elif network.switched:
        whole = partial(wire, switches=True) if "switches" in network.settings else wire
        price = partial(graph_price, whole, 1 if network.trunks else None)
    described = f"{base} with {said}"
    sizes = (
        replace(size, fabric=name, description=f"{size.description}, {said}" if size.variant else described)
        for size in network.sizings
    )
    return replace(
        network,
        name=name,
        label=f"{network.label}, {said}",
        description=described,
        price=price,
        wire=wire,
        sizes=tuple(sizes),
        oversubscription=ratio,
        compared=False,
    )


def _oversubscribed(network: Network, ratio: float) -> FabricPrice:
    """Return the price of a tree of another ratio, by switches of the cheapest kind, as the network's own."""
    price: FabricPrice = network.price()

    def chosen(at: T) -> T:
        return replace(at, options=replace(at.options, oversubscription=ratio))

    return replace(
        price,
        count=lambda buying: price.count(chosen(buying)),
        realize=lambda site: price.realize(chosen(site)),
        note="",
    )


def _number(name: str, key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InvalidInput(f'fabric {name}: {key}: expected a number, got "{value}"')
    return int(number) if number == int(number) else number


@lru_cache(KEPT)
def _of_file(path: str, stamp: int) -> Network:
    given = _Given(path)
    graph = given.graph(USUAL_BPS)
    switches = graph.nodes - graph.servers
    return Network(
        name=path,
        label=Path(path).stem,
        description=f"{graph.servers} servers and {switches} {'switch' if switches == 1 else 'switches'} of the file",
        price=given.price,
        wire=given.wire,
        sizes=(Sizing(path, "the graph of the file", given.interfaces),),
        switched=True,
        closed_form=False,
    )


class _Given:
    """The graph of a file, with the bandwidth of a cluster's links where the file has none."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._by_bandwidth: dict[float, Topology] = {}

    def graph(self, usual_bps: float) -> Topology:
        if usual_bps not in self._by_bandwidth:
            graph = read_fabric_graph(self.path, usual_bps)
            if graph is None:
                raise InvalidInput(
                    f"fabric {self.path}: has no switch; say which nodes are (kind=switch, or a name such as leaf0), "
                    "or give cables between servers as wiring=FILE"
                )
            self._by_bandwidth[usual_bps] = graph
        return self._by_bandwidth[usual_bps]

    def for_servers(self, servers: int, usual_bps: float) -> Topology:
        """Return the graph; it must have at least the servers of the job."""
        graph = self.graph(usual_bps)
        if servers > graph.servers:
            raise InvalidInput(
                f"fabric {self.path}: joins {graph.servers} servers, and the job has {servers}; use servers="
                f"{graph.servers} or fewer"
            )
        return graph

    def wire(
        self,
        servers: int,
        degree: int,
        bandwidth_bps: float,
        latency_s: float = DEFAULT_LATENCY_S,
        seed: int = 0,
    ) -> Topology:
        """Return the graph; servers beyond those of the job are idle."""
        graph = self.for_servers(servers, bandwidth_bps)
        return replace(graph, servers=servers, latency_s=np.full(len(graph), latency_s))

    def interfaces(self, cluster: Any, pricing: Any) -> tuple[int, float]:
        """Return the ports of the server with the fewest, and the bandwidth of one."""
        graph = self.for_servers(cluster.servers, cluster.link_bandwidth_bps)
        return least_ports(graph), port_bps(graph)

    def price(self) -> FabricPrice:
        """Return the price of the whole graph, also where a job uses a part of it."""
        return replace(graph_price(self._whole), interfaces=self._bought)

    def _whole(self, servers: int, degree: int, bandwidth_bps: float) -> Topology:
        return self.graph(bandwidth_bps)

    def _bought(self, asked: Interfaces) -> Interfaces:
        graph = self.for_servers(asked.servers, asked.bandwidth_bps)
        return Interfaces(graph.servers, least_ports(graph), port_bps(graph))
