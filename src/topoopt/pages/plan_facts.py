"""A plan in facts, whatever its work: the network, the time, how good it could be, what it rests on."""

from collections import Counter
from dataclasses import asdict

from topoopt.base.units import format_bytes, format_time
from topoopt.finder import STRIDES
from topoopt.pages.facts import facts_of, inputs, trust_section
from topoopt.pages.page import Section
from topoopt.pages.rows import Entries, facts
from topoopt.pages.wiring_words import family_words, wiring_words
from topoopt.pages.words import counted
from topoopt.pages.work_pages import work_page
from topoopt.plans import Plan
from topoopt.topologies import hop_metrics

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
