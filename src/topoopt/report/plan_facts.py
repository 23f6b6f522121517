"""A plan in facts: the job, the strategy, the network, the time, how good it could be, how it was searched."""

from collections import Counter

from topoopt.hardware import find_accelerator
from topoopt.plan import Plan
from topoopt.report.plan_layout import layout_search, rates, training_facts
from topoopt.report.strategy_words import strategy_words
from topoopt.report.wiring_words import wiring_words
from topoopt.report.words import counted
from topoopt.search import fullest_server, time_sources
from topoopt.topology import hop_metrics
from topoopt.units import format_bandwidth, format_bytes, format_time

Rows = list[tuple[str, str]]

BOUNDS = {
    "compute_s": "free communication",
    "injection_s": "bytes out of each server at d·B",
    "average_hop_s": "bytes × hops of the best graph of this degree",
}


def job_facts(plan: Plan) -> Rows:
    """Return the model, the cluster, and what operator times rest on."""
    job, cluster = plan.job, plan.job.cluster
    graph, settings = job.graph, job.settings
    hardware = (
        f"{cluster.servers} servers of {cluster.accelerators_per_server} × {cluster.accelerator}, "
        f"{counted(cluster.degree, f'{cluster.links} port')} of {format_bandwidth(cluster.link_bandwidth_bps)}"
    )
    if job.training is not None:
        return [*training_facts(job.training), ("cluster", hardware)]
    if not graph.operators:
        moved = f"{format_bytes(plan.traffic().mp_bytes)}, all of it ready at once; no strategy to search"
        return [("bytes", moved), ("cluster", hardware)]
    return [
        (
            "size",
            f"{len(graph.operators)} operators, {format_bytes(graph.parameter_bytes)} of parameters, "
            f"{format_bytes(graph.dense_parameter_bytes)} of them outside embedding tables",
        ),
        ("batch", f"{graph.batch_per_accelerator} an accelerator, {job.global_batch} in all"),
        ("cluster", hardware),
        (
            "operator times",
            f"{settings.precision}: "
            + "; ".join(f"{count} {source}" for source, count in time_sources(plan).most_common()),
        ),
    ]


def strategy_facts(plan: Plan) -> Rows:
    """Return how operators are split, what that moves and what memory it takes."""
    traffic = plan.traffic()
    words = strategy_words(plan.job.graph, plan.strategy)
    split = [("operators" if index == 0 else "", line) for index, line in enumerate(words)]
    moved = (
        f"{format_bytes(traffic.allreduce_bytes)} AllReduced in {counted(len(traffic.allreduce), 'group')}, "
        f"{format_bytes(traffic.mp_bytes)} model parallel"
    )
    return [*split, ("traffic", moved), ("memory", _memory(plan))]


def _memory(plan: Plan) -> str:
    use = fullest_server(plan.job, plan.strategy)
    causes = {
        "parameters": use.parameters_bytes,
        "gradients": use.gradients_bytes,
        "optimizer": use.optimizer_bytes,
        "tables": use.embedding_bytes,
        "activations": use.activations_bytes,
    }
    listed = ", ".join(f"{name} {format_bytes(size)}" for name, size in causes.items() if size)
    available = find_accelerator(plan.job.cluster.accelerator).memory_bytes
    return (
        f"{format_bytes(use.total_bytes)} of {format_bytes(available)} on the fullest accelerator "
        f"(server {use.server}: {listed})"
    )


def network_facts(plan: Plan) -> Rows:
    """Return wiring, rings, distances and routing."""
    topology, metrics = plan.fabric.topology, hop_metrics(plan.fabric.topology)
    rings = [("rings" if index == 0 else "", line) for index, line in enumerate(_ring_lines(plan))]
    ports = int(topology.ports.sum())
    return [
        ("wiring", _wiring(plan)),
        *rings,
        ("distance", f"diameter {metrics.diameter}, {metrics.average_hops:.3f} hops on average"),
        ("ports", f"{ports} of {plan.job.cluster.servers * plan.job.cluster.degree} in use"),
        ("routing", plan.fabric.routes.method),
    ]


def _wiring(plan: Plan) -> str:
    topology = plan.fabric.topology
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
        f"{counted(count, 'group')} of {size} servers, {counted(len(strides), 'ring')}: "
        f"strides {', '.join(str(stride) for stride in strides)}"
        for (size, strides), count in sorted(alike.items(), key=lambda item: -item[0][0])
    ]
    return [*lines[:6], *([f"and {len(lines) - 6} more kinds of group"] if len(lines) > 6 else [])]


def time_facts(plan: Plan) -> Rows:
    """Return where the time of an iteration goes."""
    outcome = plan.outcome
    return [
        *rates(plan),
        ("compute", format_time(outcome.compute_time_s)),
        (
            "exposed",
            f"{format_time(outcome.exposed_communication_s)} of communication that compute cannot hide",
        ),
        (
            "busiest link",
            f"{format_bytes(outcome.link_bytes_max)}; bandwidth tax {outcome.bandwidth_tax:.3f}",
        ),
    ]


def bounds_facts(plan: Plan) -> Rows:
    """Return the lower bounds, and how far plan and routing are from the best."""
    bounds, routing = plan.bounds, plan.routing_gap
    binding = max(BOUNDS, key=lambda name: getattr(bounds, name))
    lines: Rows = [
        (
            "lower bound" if index == 0 else "",
            f"{format_time(getattr(bounds, name))}  {meaning}{'  ← binds' if name == binding else ''}",
        )
        for index, (name, meaning) in enumerate(BOUNDS.items())
    ]
    what = "strategy" if plan.job.training is None else "configuration"
    best = f"busiest link {'' if routing.exact else 'at most '}{routing.gap:.1%} above the best routing"
    if not routing.optimal_load_s:
        best = "the best routing"
    return [
        *lines,
        ("gap", f"{plan.gap:.1%} above the bound, for this {what}"),
        ("routing", f"{best} ({routing.method})"),
    ]


def search_facts(plan: Plan) -> Rows:
    """Return how the search went."""
    record = plan.search
    times = sorted(record.seed_times_s)
    spread = f", the worst {times[-1] / times[0] - 1:.2%} slower" if len(times) > 1 else ""
    if plan.job.training is not None:
        return layout_search(plan)
    if not plan.strategy.splits:
        return [("tried", f"{counted(len(times), 'degree split')}{spread}")]
    return [
        (
            "proposals",
            f"{record.proposals} in {format_time(record.cpu_s)} of CPU ({record.proposals_per_s:,.0f}/s)",
        ),
        ("stopped", record.stopped_because),
        ("gained", _gained(plan)),
        ("chains", f"best of {len(times)}{spread}; seed {plan.provenance.seed}"),
    ]


def _gained(plan: Plan) -> str:
    plain_s = plan.data_parallel.iteration_time_s
    factor = plain_s / plan.outcome.iteration_time_s
    if factor < 1.0005:
        return "nothing over data parallel with round-robin tables, which is the best that was found"
    return f"data parallel with round-robin tables takes {format_time(plain_s)}, {factor:.2f} × as long"
