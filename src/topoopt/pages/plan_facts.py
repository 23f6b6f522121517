"""A plan in facts, whatever its work: the network, the time, how good it could be, what it rests on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict

from topoopt.base.units import format_bytes, format_time
from topoopt.finder import STRIDES
from topoopt.pages.number_format import counted, dollars, usd
from topoopt.pages.operators_page import OPERATORS_PAGE
from topoopt.pages.page import Section, Table, Tile
from topoopt.pages.tables import Entries, facts, facts_of, inputs, number, table, text, trust_section
from topoopt.pages.traffic_page import TRAFFIC_PAGE
from topoopt.pages.transformer_page import TRANSFORMER_PAGE
from topoopt.pages.wiring_page import family_words, wiring_words
from topoopt.pages.work_page import WorkPage
from topoopt.plans import Plan, ServedFigures, ServedOnFabric
from topoopt.topologies import hop_metrics

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
    return {
        "wiring": _wiring(plan),
        "rings": _ring_lines(plan),
        "distance": f"diameter {metrics.diameter}, {metrics.average_hops:.3f} hops on average",
        "ports": f"{topology.ports.sum()} of {plan.job.cluster.servers * plan.job.cluster.degree} in use",
        "routing": plan.fabric.routes.method,
    }


def _wiring(plan: Plan) -> list[str]:
    """Return who is joined with whom, and what another family than strides gains."""
    chosen = plan.wiring
    if chosen is None or chosen.family == STRIDES or chosen.over_strides is None:
        return [_joined(plan)]
    return [_joined(plan), f"{chosen.over_strides:.2%} faster than the best strides"]


def _joined(plan: Plan) -> str:
    topology, chosen = plan.fabric.topology, plan.wiring
    if not topology.offsets and chosen is not None and chosen.family != STRIDES:
        return family_words(chosen.family, chosen.group)
    if not topology.offsets:
        return "rings and single links; every link is in the plan file"
    cables = {offset: int(topology.ports[topology.link_id(0, offset)]) for offset in topology.offsets}
    offsets = [offset for offset, count in cables.items() for _ in range(count)]
    return wiring_words(topology.servers, offsets, plan.job.cluster.links)


def _ring_lines(plan: Plan) -> list[str]:
    """Groups of equal size whose rings have equal strides share a line."""
    alike = Counter(
        (len(members), tuple(ring.stride for ring in rings)) for members, rings in plan.fabric.rings.items()
    )
    lines = [
        f"{counted(count, 'group')} of {size} servers, {counted(len(strides), 'ring')}"
        f"{': strides ' + ', '.join(map(str, strides)) if all(strides) else ''}"
        for (size, strides), count in sorted(alike.items(), key=lambda item: -item[0][0])
    ]
    return [*lines[:6], *([f"and {len(lines) - 6} more kinds of group"] if len(lines) > 6 else [])]


def time_facts(plan: Plan) -> Entries:
    """Return where the time of an iteration goes."""
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
    return {
        "lower bound": [
            f"{format_time(bounds[name])}  {meaning}{'  ← binds' if name == binding else ''}"
            for name, meaning in meanings.items()
        ],
        "gap": [
            f"{plan.gap:.1%} above the bound, for this {plan.job.work.strategy_word}",
            *_part_lines(plan),
        ],
        "routing": f"{best} ({routing.method})",
    }


def _part_lines(plan: Plan) -> list[str]:
    """Return the parts of the gap in time and in per cent of the bound; nothing where they are unknown."""
    if plan.gap_parts is None or plan.bounds.lower_bound_s <= 0:
        return []
    parts_s = asdict(plan.gap_parts)
    return [
        f"{parts_s[name] / plan.bounds.lower_bound_s:.1%}  {meaning} ({format_time(parts_s[name])})"
        for name, meaning in PARTS.items()
    ]


def trust(plan: Plan) -> Section:
    """Return everything that is needed to make the plan again, and to know how its numbers were counted."""
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
    """Return what there is to say of the plan's kind of work."""
    return WORK_PAGES[plan.job.work.kind]


def served_headline(served: ServedFigures) -> str:
    """Return what users meet on the plan's network, and whether that matters."""
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
        Tile("First token", _time(own.ttft_p50_s), f"p90 {_time(own.ttft_p90_s)}"),
        Tile("Each other token", _time(own.tpot_p50_s), f"p90 {_time(own.tpot_p90_s)}"),
        Tile("A million tokens", dollars(own.usd_per_million_tokens), "of answers"),
        Tile("Price of the network", usd(own.network_usd), own.wiring),
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
    return (
        Section(
            "served",
            "What users meet",
            "Each fabric with the deployment, wiring and pairing that suit it best, simulated request by request.",
            (asked, _fabrics(served), _times(own)),
            "simulated",
        ),
    )


def _fabrics(served: ServedFigures) -> Table:
    return table(
        "",
        served.fabrics,
        text("fabric", "fabric"),
        number("goodput/s", "goodput_per_s", ".3g"),
        number("met", "attainment", ".1%"),
        number("TTFT p50", "ttft_p50_s", _time),
        number("p90", "ttft_p90_s", _time),
        number("TPOT p50", "tpot_p50_s", _time),
        number("p90", "tpot_p90_s", _time),
        number("tax", "bandwidth_tax", ".2f"),
        number("network", "network_usd", usd),
        number("$/1 M", "usd_per_million_tokens", dollars),
        text("binds", "binds"),
    )


def _times(own: ServedOnFabric) -> Table:
    parts = ("mean", "p50", "p90", "p99")
    rows = [
        {"what": what, **{part: getattr(own, f"{name}_{part}_s") for part in parts}}
        for what, name in (("first token", "ttft"), ("each other token", "tpot"))
    ]
    return table(
        "On the plan's network", rows, text("time", "what"), *(number(part, part, _time) for part in parts)
    )


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else format_time(seconds)
