"""The k-ary fat-tree of full bisection, sized for the price of TopoOpt."""

from __future__ import annotations

from functools import partial
from typing import Any

from topoopt import pricing, topologies
from topoopt.catalog import DEFAULT_LATENCY_S, PUBLISHED_IDEAL_OVER_TOPOOPT, ClusterSpec, Network, Sizing


def wire(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    seed: int = 0,
    **settings: Any,
) -> topologies.Topology:
    """Return the tree with one link per server."""
    return topologies.fat_tree(servers, degree * bandwidth_bps, latency_s, **settings)


def _published(cluster: ClusterSpec, by: pricing.Pricing) -> tuple[int, float]:
    """Return the interfaces that cost least for the published bandwidth; one where ports are counted."""
    whole_bps = pricing.published_equivalent_bandwidth(cluster.degree, cluster.link_bandwidth_bps)
    most = 1 if by.accounting.switches == "ports" else cluster.degree
    sizes = [(count, whole_bps / count) for count in range(1, most + 1)]
    usd = {one: pricing.known_price("fat-tree", cluster.servers, *one, by).cost_usd for one in sizes}
    return min(sizes, key=lambda one: usd[one] or float("inf"))


def _priced(cluster: ClusterSpec, by: pricing.Pricing, evenly: bool = False) -> tuple[int, float]:
    size = cluster.servers, cluster.degree, cluster.link_bandwidth_bps
    tree = pricing.equivalent_fat_tree(*size, by.prices, by.accounting, by.options, evenly)
    return tree.interfaces, tree.interface_bandwidth_bps


NETWORK = Network(
    name="fat-tree",
    label="Fat-tree",
    description="full bisection",
    price=lambda: pricing.FabricPrice(
        count=pricing.switched,
        realize=pricing.realize_switches,
        note="the cheapest network of whole switches that never blocks",
        note_by_port="",
    ),
    wire=wire,
    share=1 / PUBLISHED_IDEAL_OVER_TOPOOPT,
    settings=frozenset({"switches", "arity"}),
    sizes=(
        Sizing("fat-tree", "full bisection, the paper's equal cost", _published, "d·B/3.2", published=True),
        Sizing(
            "fat-tree",
            "full bisection, what TopoOpt's price buys",
            _priced,
            "priced",
            "priced",
            shared_evenly=partial(_priced, evenly=True),
        ),
    ),
    switched=True,
    trunks=True,
    compared=True,
    color=1,
    order=40,
)
