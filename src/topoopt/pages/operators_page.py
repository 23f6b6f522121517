"""Parts of a plan's page for a job of operators: its size, the split of each operator, and the search."""

from collections import Counter
from dataclasses import asdict

from topoopt.base.units import format_bytes, format_memory, format_time
from topoopt.catalog import find_accelerator
from topoopt.jobs import DDP_BUCKET_BYTES, NO_BUCKETS, bucket_text, operators_of
from topoopt.pages.page import Block, Section, Table
from topoopt.pages.tables import Entries, counted, facts, facts_of, joined, number, runs, table, text, usd
from topoopt.pages.work_page import WorkPage, cluster_words, spread_words
from topoopt.plans import Plan
from topoopt.search import fullest_server, time_sources
from topoopt.workloads import OperatorGraph, OperatorSplit, ParallelStrategy

MOST_LINES = 8
TABLE = "embedding table"
DIMENSIONS = {"out": "output channels", "in": "input channels", "rows": "rows", "columns": "columns"}


def job_facts(plan: Plan) -> Entries:
    """Return the model, the cluster, and the basis of operator times."""
    job, graph = plan.job, operators_of(plan.job).graph
    sources = "; ".join(f"{count} {source}" for source, count in time_sources(plan).most_common())
    return {
        "size": f"{len(graph.operators)} operators, {format_bytes(graph.parameter_bytes)} of parameters, "
        f"{format_bytes(graph.dense_parameter_bytes)} of them outside embedding tables",
        "batch": f"{graph.batch_per_accelerator} an accelerator, {job.global_batch} in all",
        "cluster": cluster_words(job.cluster),
        "operator times": f"{job.settings.precision}: {sources}",
    }


def strategy_sections(plan: Plan) -> tuple[Section, ...]:
    """Return the split of operators, their traffic and memory."""
    traffic, splits = plan.traffic(), counted(len(plan.strategy.splits), "operator")
    use = fullest_server(plan.job, plan.strategy)
    listed = ", ".join(f"{name} {format_memory(size)}" for name, size in use.by_cause.items() if size)
    available = find_accelerator(plan.job.cluster.accelerator).usable_memory_bytes
    memory = (
        f"{format_memory(use.total_bytes)} of {format_memory(available)} on the fullest accelerator "
        f"(server {use.server}: {listed})"
    )
    strategy = {
        "operators": strategy_words(operators_of(plan.job).graph, plan.strategy),
        "traffic": f"{format_bytes(traffic.allreduce_bytes)} AllReduced in "
        f"{counted(len(traffic.allreduce), 'group')}, {format_bytes(traffic.mp_bytes)} model parallel",
        **gradient_facts(plan),
        "memory": memory,
    }
    caption = (
        f"How each of the {splits} of {plan.job.name} is split over the servers, and what a part of it costs."
    )
    return (Section("strategy", "Strategy", caption, (facts(strategy),)),)


def search_facts(plan: Plan) -> Entries:
    """Return facts of the search."""
    record = plan.search
    plain_s = plan.data_parallel.iteration_time_s
    factor = plain_s / plan.iteration_time_s
    gained = f"data parallel with round-robin tables takes {format_time(plain_s)}, {factor:.2f} × as long"
    if factor < 1.0005:
        gained = "nothing over data parallel with round-robin tables, which is the best that was found"
    return {
        "proposals": f"{record.proposals} in {format_time(record.cpu_s)} of CPU ({record.proposals_per_s:,.0f}/s)",
        "stopped": record.stopped_because,
        "gained": gained,
        "chains": f"best of {len(record.seed_times_s)}{spread_words(plan)}; seed {plan.provenance.seed}",
    }


def made_by(plan: Plan) -> Entries:
    """Return the size of the model and its batch."""
    graph = operators_of(plan.job).graph
    return {
        "model": graph.name,
        "operators": f"{len(graph.operators):,}",
        "parameters": format_bytes(graph.parameter_bytes),
        "batch of an accelerator": f"{graph.batch_per_accelerator:,}",
        "batch in all": f"{plan.job.global_batch:,}",
    }


def strategy_details(plan: Plan) -> tuple[Block, ...]:
    """Return every operator, the memory of the fullest server, and how both are counted."""
    settings = facts_of("How time and memory are counted", asdict(plan.job.settings))
    return strategy_table(plan), memory_table(plan), settings


OPERATORS_PAGE = WorkPage(
    job_facts,
    search_facts,
    made_by,
    strategy_sections,
    strategy_details,
    compared="each with a strategy searched for it",
)


def gradient_facts(plan: Plan) -> Entries:
    """Return micro-batches of a plan, and buckets and algorithms of one whose gradients are AllReduced."""
    pieces, beside = plan.job.settings.microbatches, dict(plan.gradients.microbatch_times_s)
    in_words = ", ".join(f"{count} in {format_time(time_s)}" for count, time_s in beside.items())
    batches = (
        {"micro-batches": f"{pieces}{f'; tried were {in_words}' if in_words else ''}"}
        if pieces > 1 or in_words
        else {}
    )
    if not plan.traffic().allreduce:
        return batches
    own, tried = plan.job.settings.bucket_bytes, dict(plan.gradients.bucket_times_s)
    what = "none: an AllReduce for each tensor" if own == NO_BUCKETS else bucket_text(own)
    if not tried:
        buckets = what
    else:
        others = {NO_BUCKETS: "one for each tensor", DDP_BUCKET_BYTES: "25 MiB (PyTorch)"}
        if own not in tried:  # settled with another wiring than the one that the times are of
            buckets = what
        else:
            times = [
                f"{text} {format_time(tried[size])}"
                for size, text in others.items()
                if size != own and size in tried
            ]
            fastest = "" if tried[own] == min(tried.values()) else "as fast within 0.1% as "
            buckets = "; ".join(
                [
                    f"{what}, {fastest}the fastest of {len(tried)} sizes: {format_time(tried[own])}",
                    *filter(None, [", ".join(times)]),
                ]
            )
    choice, used = plan.gradients, plan.outcome.algorithms
    if choice.by_message_s is None or choice.rings_s is None:
        algorithms = (
            {"collectives": ", ".join(f"{count} by {name}" for name, count in used.items())} if used else {}
        )
    elif not used:
        by_message = format_time(choice.by_message_s)
        gain = "saves less than 1%" if choice.by_message_s < choice.rings_s else "is not faster"
        algorithms = {"collectives": f"rings; an algorithm for each message {gain} ({by_message})"}
    else:
        rows = ", ".join(f"{count} by {name}" for name, count in used.items())
        algorithms = {"collectives": f"{rows}; rings alone take {format_time(choice.rings_s)}"}
    return {"buckets": buckets, **batches, **algorithms}


def strategy_table(plan: Plan) -> Table:
    """Return every operator: its split, place, memory, and the time of a part."""
    work = operators_of(plan.job)
    splits = plan.strategy.splits
    times = [work.time(index, split) for index, split in enumerate(splits)]
    return table(
        "Every operator",
        joined(operator=work.graph.operators, split=splits, part=times),
        text("operator", "operator.name"),
        text("kind", "operator.kind"),
        text("how it is split", "split", how_split),
        text("servers", lambda row: runs(row["split"].servers(plan.strategy.servers))),
        number(
            "parameters", lambda row: sum(one.size_bytes for one in row["operator"].weights), format_bytes
        ),
        number("forward", "part.forward_s"),
        number("backward", "part.backward_s"),
        text("time from", "part.source"),
        folded=len(splits) > 24,
    )


def memory_table(plan: Plan) -> Table:
    """Return the memory of the fullest accelerator, by cause."""
    use = fullest_server(plan.job, plan.strategy)
    there_is = find_accelerator(plan.job.cluster.accelerator).usable_memory_bytes
    sizes = {**use.by_cause, "together": use.total_bytes, "there is": there_is}
    held = {what: size for what, size in sizes.items() if size}
    return table(
        f"Memory of an accelerator of server {use.server}, the fullest",
        joined(what=held, size=held.values()),
        text("what", "what", lambda what: what.replace("tables", "embedding tables")),
        number("size", "size", format_memory),
    )


def bill_blocks(plan: Plan) -> tuple[Block, ...]:
    """Return the bill of the plan's network and how it was counted, nothing where there is none."""
    lines = plan.price.get("bill")
    if not lines:
        return ()
    together = {"item": "together", "total_usd": plan.price.get("cost_usd")}
    return (
        table(
            f"Bill, prices of {plan.price.get('prices')}",
            [*lines, together],
            text("part", lambda line: _part(str(line["item"]))),
            number("count", lambda line: f"{line['count']:,.0f}" if "count" in line else ""),
            number(
                "each", lambda line: f"${line['unit_usd']:,.2f}" if line.get("unit_usd") is not None else ""
            ),
            number("price", "total_usd", usd),
        ),
        facts_of("Accounting of the price", plan.price.get("accounting") or {}),
    )


def _part(item: str) -> str:
    """Return ``patch panel port``, ``NIC`` or ``fiber (m)``."""
    words = item.removesuffix("_m").replace("_", " ").replace("nic", "NIC")
    return f"{words} (m)" if item.endswith("_m") else words


def strategy_words(graph: OperatorGraph, strategy: ParallelStrategy) -> list[str]:
    """Return lines such as ``23 dense, 1 concat: data parallel over 128 servers``, the most operators first."""
    kinds: dict[str, Counter[str]] = {}
    servers: dict[str, set[int]] = {}
    for op, split in zip(graph.operators, strategy.splits, strict=True):
        how = how_split(split, "whole" if op.is_embedding else "on one server")
        kinds.setdefault(how, Counter())[TABLE if op.kind == "embedding" else op.kind] += 1
        servers.setdefault(how, set()).update(split.servers(strategy.servers))
    ordered = sorted(kinds, key=lambda how: -kinds[how].total())
    lines = [f"{_counted(kinds[how])}: {how}, on {counted(len(servers[how]), 'server')}" for how in ordered]
    if len(lines) > MOST_LINES:
        rest = sum(kinds[how].total() for how in ordered[MOST_LINES - 1 :])
        lines[MOST_LINES - 1 :] = [
            f"{rest} more, in {len(lines) - MOST_LINES + 1} other ways: see the plan file"
        ]
    return lines


def how_split(split: OperatorSplit, whole: str = "on one server") -> str:
    """Return ``data parallel in 128``, ``rows split in 4``, both, or a word for an unsplit operator."""
    parts = []
    if split.channel_degree > 1:
        parts.append(f"{DIMENSIONS[split.channel_dim]} split in {split.channel_degree}")
    if split.batch_degree > 1:
        parts.append(f"data parallel in {split.batch_degree}")
    return ", ".join(parts) or whole


def _counted(kinds: "Counter[str]") -> str:
    # A kind is a word for one operator ("dense", "conv2d"); only tables have a plural.
    return ", ".join(
        counted(count, kind) if kind == TABLE else f"{count} {kind}" for kind, count in kinds.most_common()
    )
