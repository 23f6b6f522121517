"""The network of a plan as charts: links on a circle with rings and routes, and how far apart servers are."""

from collections.abc import Iterator, Sequence

import numpy as np

from topoopt.pages.chart import BarChart, CircleChart, RingLine, Route, Series
from topoopt.pages.chart_layout import ring_cables
from topoopt.plans import Plan
from topoopt.search import simulated
from topoopt.simulation import SimResult

MOST_RINGS = 8
"""Rings that have a color of their own."""
LEAST_SHARE = 0.03
"""Paths that carry less of a pair's bytes are not shown."""
MOST_PAIRS = 16_384
"""Ordered pairs whose routes are written on the page: all up to 128 servers."""
MOST_NODES = 240_000
"""On all paths that are written: a page stays below a megabyte."""
NODES_A_LINK = 4
"""How many nodes of paths a link takes the room of."""
LEAST_NODES = 20_000


def topology_circle(plan: Plan, result: SimResult) -> CircleChart:
    """Return every link, the rings of the widest groups, and the routes that can be asked for.

    Routes by coin change are the same from every server, so that those of server 0 are enough. Of other routes
    those of the pairs with the most bytes are taken where there are too many.
    """
    topology = plan.fabric.topology
    columns = zip(
        topology.src.tolist(),
        topology.dst.tolist(),
        topology.ports.tolist(),
        result.link_bytes.tolist(),
        strict=True,
    )
    turned = plan.fabric.routes.method == "coin-change"
    pairs = [(0, dst) for dst in range(1, topology.servers)] if turned else _shown_pairs(plan)
    most_nodes = max(MOST_NODES - NODES_A_LINK * len(topology.src), LEAST_NODES)
    return CircleChart(
        "topology",
        f"Topology of {topology.servers} servers",
        topology.servers,
        topology.nodes,
        tuple(columns),
        tuple(ring_lines(plan)),
        tuple(_routes(plan, pairs, most_nodes)),
        turned=turned,
    )


def topology_of_plan(plan: Plan) -> CircleChart:
    """Return the same of a plan alone, simulated once more."""
    return topology_circle(plan, simulated(plan.job, plan.strategy, plan.fabric, plan.outcome.simulator))


def ring_lines(plan: Plan) -> Iterator[RingLine]:
    """Yield the rings that use different cables, those of the widest group first, eight at most."""
    met: set[tuple[tuple[int, int], ...]] = set()
    for members in sorted(plan.fabric.rings, key=lambda group: (-len(group), group)):
        for ring in plan.fabric.rings[members]:
            cables = tuple(ring_cables(ring.walk))
            if cables in met or len(met) == MOST_RINGS:
                continue
            met.add(cables)
            yield RingLine(_ring_name(plan, members, ring.stride), ring.walk)


def hops_chart(plan: Plan, result: SimResult) -> BarChart:
    """Return the share of the pairs that exchange transfers, and of all bytes, by links crossed."""
    pairs, size_bytes = result.hop_pairs, result.hop_bytes
    last = max(np.flatnonzero(pairs + size_bytes), default=0)
    hops = tuple(str(hop) for hop in range(1, last + 1))
    series = [
        Series(name, hops, tuple((values[1 : last + 1] / values.sum()).tolist()))
        for name, values in (("pairs that transfer", pairs), ("bytes, AllReduce included", size_bytes))
        if values.sum() > 0
    ]
    return BarChart("path_lengths", "How many links bytes cross", "links crossed", "share", tuple(series))


def _ring_name(plan: Plan, members: tuple[int, ...], stride: int) -> str:
    if not stride:
        name = "ring"
    elif plan.job.cluster.links == "duplex":
        name = f"stride ±{min(stride, len(members) - stride)}"
    else:
        name = f"stride +{stride}"
    everyone = len(members) == plan.job.cluster.servers
    return name if everyone else f"{name} of {len(members)} servers from {members[0]}"


def _routes(plan: Plan, pairs: Sequence[tuple[int, int]], most_nodes: int) -> Iterator[Route]:
    """Yield the routes of the pairs in order of number; of very many those of the first, while there is room."""
    found, nodes = [], 0
    for src, dst in pairs:
        route = _route(plan, src, dst)
        nodes += sum(len(path) for _, path in route.paths)
        if nodes > most_nodes and len(pairs) >= MOST_PAIRS:
            break
        found.append(route)
    yield from sorted(found, key=lambda route: (route.src, route.dst))


def _route(plan: Plan, src: int, dst: int) -> Route:
    paths = plan.fabric.routes.paths(src, dst)
    return Route(src, dst, tuple((path.weight, path.nodes) for path in paths if path.weight > LEAST_SHARE))


def _shown_pairs(plan: Plan) -> list[tuple[int, int]]:
    """Return all pairs, or, of too many, those with the most bytes, these first."""
    servers = plan.fabric.topology.servers
    if servers * (servers - 1) <= MOST_PAIRS:
        return [(src, dst) for src in range(servers) for dst in range(servers) if src != dst]
    transfers = plan.traffic().transfers
    heaviest = np.argsort(-transfers.size_bytes, kind="stable")[:MOST_PAIRS]
    return list(zip(transfers.src[heaviest].tolist(), transfers.dst[heaviest].tolist(), strict=True))
