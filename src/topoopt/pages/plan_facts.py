"""A plan of any work in facts and charts: its network, its time, its bound, links, rings and hops."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from string import ascii_uppercase

import numpy as np

from topoopt.base.units import format_bytes, format_time
from topoopt.finder import STRIDES
from topoopt.pages.chart import BarChart, CircleChart, RingLine, Route, Series
from topoopt.pages.chart_layout import ring_cables
from topoopt.pages.operators_page import OPERATORS_PAGE
from topoopt.pages.page import Section, Tile
from topoopt.pages.serving_network_page import SERVED_COLUMNS, time_or_dash, users_times
from topoopt.pages.tables import (
    Entries,
    counted,
    dollars,
    facts,
    facts_of,
    inputs,
    number,
    table,
    text,
    trust_section,
    usd,
)
from topoopt.pages.transformer_page import TRANSFORMER_PAGE
from topoopt.pages.wiring_page import family_words, wiring_words
from topoopt.pages.work_page import TRAFFIC_PAGE, WorkPage
from topoopt.plans import Plan, ServedFigures
from topoopt.search import simulated
from topoopt.simulation import SimResult
from topoopt.topologies import Ring, hop_metrics

MOST_RINGS = 8
"""Rings that have a color of their own."""
LEAST_SHARE = 0.03
"""Paths that carry less of a pair's bytes are not shown."""
MOST_PAIRS = 16_384
"""Ordered pairs whose routes are written on the page: all up to 128 servers."""
MOST_NODES = 240_000
"""Most nodes on all paths that are written, so that a page stays below a megabyte."""
NODES_A_LINK = 4
"""Nodes of paths that take as much space as a link."""
LEAST_NODES = 20_000
WORK_PAGES: Mapping[str, WorkPage] = {
    "operators": OPERATORS_PAGE,
    "traffic": TRAFFIC_PAGE,
    "transformer": TRANSFORMER_PAGE,
}
BOUNDS = {
    "injection_s": "bytes out of each server at d·B",
    "average_hop_s": "bytes × hops of the best graph of this degree",
    "critical_path_s": "longest chain of computation and communication",
}
PARTS = {
    "wiring_s": "wiring: its hops and rings, against the best there could be",
    "routing_s": "routing: these routes, against the best on this wiring",
    "schedule_s": "schedule: links that wait, for order and dependencies",
    "rounds_s": "rounds of small messages: latency, packets that are not full",
}


def network_facts(plan: Plan) -> Entries:
    """Return wiring, rings, distances and routing."""
    topology, metrics = plan.fabric.topology, hop_metrics(plan.fabric.topology)
    chosen = plan.wiring
    if chosen is None or chosen.family == STRIDES or chosen.over_strides is None:
        wiring = [_joined(plan)]
    else:
        wiring = [_joined(plan), f"{chosen.over_strides:.2%} faster than the best strides"]
    # groups of equal size whose rings have equal strides share a line
    alike = Counter(
        (len(members), tuple(ring.stride for ring in rings)) for members, rings in plan.fabric.rings.items()
    )
    lines = [
        f"{counted(count, 'group')} of {size} servers, {counted(len(strides), 'ring')}"
        f"{': strides ' + ', '.join(map(str, strides)) if all(strides) else ''}"
        for (size, strides), count in sorted(alike.items(), key=lambda item: -item[0][0])
    ]
    return {
        "wiring": wiring,
        "rings": [*lines[:6], *([f"and {len(lines) - 6} more kinds of group"] if len(lines) > 6 else [])],
        "distance": f"diameter {metrics.diameter}, {metrics.average_hops:.3f} hops on average",
        "ports": f"{topology.ports.sum()} of {plan.job.cluster.servers * plan.job.cluster.degree} in use",
        "routing": plan.fabric.routes.method,
    }


def _joined(plan: Plan) -> str:
    topology, chosen = plan.fabric.topology, plan.wiring
    if not topology.offsets and chosen is not None and chosen.family != STRIDES:
        return family_words(chosen.family, chosen.group)
    if not topology.offsets:
        return "rings and single links; every link is in the plan file"
    cables = {offset: int(topology.ports[topology.link_id(0, offset)]) for offset in topology.offsets}
    offsets = [offset for offset, count in cables.items() for _ in range(count)]
    return wiring_words(topology.servers, offsets, plan.job.cluster.links)


def time_facts(plan: Plan) -> Entries:
    """Return the breakdown of an iteration."""
    outcome = plan.outcome
    exposed = format_time(outcome.exposed_communication_s)
    return {
        **work_page(plan).rates(plan),
        **work_page(plan).compute(plan),
        "exposed": f"{exposed} of communication that compute cannot hide",
        "busiest link": f"{format_bytes(outcome.link_bytes_max)}; bandwidth tax {outcome.bandwidth_tax:.3f}",
    }


def bounds_facts(plan: Plan) -> Entries:
    """Return the lower bounds, and how far plan and routing are from the best."""
    bounds, routing = asdict(plan.bounds), plan.routing_gap
    meanings = {"compute_s": work_page(plan).free, **BOUNDS}
    binding = max(meanings, key=lambda name: bounds[name])
    best = f"busiest link {'' if routing.exact else 'at most '}{routing.gap:.1%} above the best routing"
    if not routing.optimal_load_s:
        best = "the best routing"
    # the parts of the gap in time and in per cent of the bound; nothing where they are unknown
    if plan.gap_parts is None or plan.bounds.lower_bound_s <= 0:
        part_lines = []
    else:
        # less than a billionth is rounding
        least_s = 1e-9 * plan.bounds.lower_bound_s
        parts_s = {
            name: part_s if abs(part_s) > least_s else 0.0 for name, part_s in asdict(plan.gap_parts).items()
        }
        part_lines = [
            f"{parts_s[name] / plan.bounds.lower_bound_s:.1%}  {meaning} ({format_time(parts_s[name])})"
            for name, meaning in PARTS.items()
        ]
    word = plan.job.work.strategy_word
    every_s = plan.bounds.any_strategy_s
    anyhow = (
        [f"{format_time(every_s)}  at least with any {word}, on any network of these ports"]
        if every_s
        else []
    )
    return {
        "lower bound": [
            f"{format_time(bounds[name])}  {meaning}{'  ← binds' if name == binding else ''}"
            for name, meaning in meanings.items()
        ],
        "any strategy": anyhow,
        "gap": [f"{plan.gap:.1%} above the bound, for this {word}", *part_lines],
        "routing": f"{best} ({routing.method})",
    }


def trust(plan: Plan) -> Section:
    """Return the facts needed to reproduce the plan and its numbers."""
    made = {
        **work_page(plan).made_by(plan),
        "topoopt": plan.provenance.version,
        "seed": str(plan.provenance.seed),
        "simulator": plan.outcome.simulator,
        "search ended": plan.search.stopped_because,
        "proposals": f"{plan.search.proposals:,}",
        **inputs(plan.provenance),
    }
    cluster, options = facts_of("Cluster", asdict(plan.job.cluster)), facts_of("Search options", plan.options)
    return trust_section("plan", facts(made, "Made by"), cluster, options)


def work_page(plan: Plan) -> WorkPage:
    """Return the page parts for the plan's kind of work."""
    return WORK_PAGES[plan.job.work.kind]


def served_headline(served: ServedFigures) -> str:
    """Return the serving figures on the plan's network, and whether the network matters."""
    own = served.fabrics[0]
    goals = f"{format_time(served.slo_ttft_s)} to the first token and {format_time(served.slo_tpot_s)} for each other"
    price = own.usd_per_million_tokens
    cost = "" if price is None else f", for {dollars(price)} a million tokens of answers"
    least = (
        "it meets them for the least money"
        if served.winner == own.fabric
        else f"{served.winner} does it for less"
    )
    others = f"; of {len(served.fabrics)} fabrics {least}" if len(served.fabrics) > 1 else ""
    matters = "" if served.network_matters or own.binds == "network" else " The network hardly matters here."
    return (
        f"{own.deployment}: of {served.requests_per_s:.3g} requests a second {own.attainment:.1%} are answered within "
        f"{goals}{cost}; {own.goodput_per_s:.3g} at most{others}. Then {own.binds} binds: {own.binds_because}.{matters}"
    )


def served_tiles(served: ServedFigures) -> tuple[Tile, ...]:
    """Return goodput and the times of users."""
    own = served.fabrics[0]
    return (
        Tile("Goodput", f"{own.goodput_per_s:.3g}/s", f"{served.slo_share:.0%} within both objectives"),
        Tile("First token", time_or_dash(own.ttft_p50_s), f"p90 {time_or_dash(own.ttft_p90_s)}"),
        Tile("Each other token", time_or_dash(own.tpot_p50_s), f"p90 {time_or_dash(own.tpot_p90_s)}"),
        Tile("A million tokens", dollars(own.usd_per_million_tokens), "of answers"),
        Tile("Price of the network", usd(own.cost_usd), own.wiring),
    )


def served_sections(plan: Plan) -> tuple[Section, ...]:
    """Return the fabrics beside each other, and the times of users on the plan's."""
    served = plan.served
    assert served is not None
    own = served.fabrics[0]
    asked = facts(
        {
            "serves": served.model,
            "requests": f"{served.requests_per_s:.4g} a second",
            "objectives": f"first token {format_time(served.slo_ttft_s)}, each other {format_time(served.slo_tpot_s)}, "
            f"for {served.slo_share:.0%} of the requests",
            "deployment": own.deployment,
        }
    )
    fabrics = table(
        "",
        served.fabrics,
        *SERVED_COLUMNS,
        number("tax", "bandwidth_tax", ".2f"),
        number("network", "cost_usd", usd),
        number("$/1 M", "usd_per_million_tokens", dollars),
        text("binds", "binds"),
    )
    kinds = {"first token": "ttft", "each other token": "tpot"}
    times = users_times("On the plan's network", asdict(own), kinds)
    return (
        Section(
            "served",
            "What users meet",
            "Each fabric with the deployment, wiring and pairing that suit it best, simulated request by request.",
            (asked, fabrics, times),
            "simulated",
        ),
    )


def topology_circle(plan: Plan, result: SimResult) -> CircleChart:
    """Return every link, the rings of the widest groups, and the routes that can be selected.

    Routes by coin change are the same from every server, so that those of server 0 are enough. Of other routes
    the pairs with the most bytes are shown where there are too many.
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
    groups: dict[tuple[int, ...], list[Ring]] = {}
    for members in sorted(plan.fabric.rings, key=lambda group: (-len(group), group)):
        for ring in plan.fabric.rings[members]:
            cables = tuple(ring_cables(ring.walk))
            if cables not in met and len(met) < MOST_RINGS:
                met.add(cables)
                groups.setdefault(members, []).append(ring)
    for letter, (members, rings) in zip(ascii_uppercase, groups.items(), strict=False):
        alone = len(groups) == 1
        group = "" if alone else f"AllReduce group {letter}: {len(members)} servers from {members[0]}"
        for place, ring in enumerate(rings, 1):
            name = _ring_name(plan, members, ring.stride, f"ring {place} of {len(rings)}")
            yield RingLine(name if alone else f"group {letter}, {name}", ring.walk, group)


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


def _ring_name(plan: Plan, members: tuple[int, ...], stride: int, else_: str) -> str:
    if not stride:
        return else_
    if plan.job.cluster.links == "duplex":
        return f"stride ±{min(stride, len(members) - stride)}"
    return f"stride +{stride}"


def _routes(plan: Plan, pairs: Sequence[tuple[int, int]], most_nodes: int) -> Iterator[Route]:
    """Yield the routes of the pairs in order of number; of very many those of the first, while there is room."""
    found, nodes = [], 0
    for src, dst in pairs:
        paths = plan.fabric.routes.paths(src, dst)
        route = Route(
            src, dst, tuple((path.weight, path.nodes) for path in paths if path.weight > LEAST_SHARE)
        )
        nodes += sum(len(path) for _, path in route.paths)
        if nodes > most_nodes and len(pairs) >= MOST_PAIRS:
            break
        found.append(route)
    yield from sorted(found, key=lambda route: (route.src, route.dst))


def _shown_pairs(plan: Plan) -> list[tuple[int, int]]:
    """Return all pairs, or, of too many, those with the most bytes, these first."""
    servers = plan.fabric.topology.servers
    if servers * (servers - 1) <= MOST_PAIRS:
        return [(src, dst) for src in range(servers) for dst in range(servers) if src != dst]
    transfers = plan.traffic().transfers
    heaviest = np.argsort(-transfers.size_bytes, kind="stable")[:MOST_PAIRS]
    return list(zip(transfers.src[heaviest].tolist(), transfers.dst[heaviest].tolist(), strict=True))
