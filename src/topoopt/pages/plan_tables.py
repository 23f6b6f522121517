"""What a plan says in rows: the strategy by operator, the memory of an accelerator, the bill."""

from collections.abc import Iterable

from topoopt.base.units import format_bytes
from topoopt.catalog import find_accelerator
from topoopt.jobs import operators_of
from topoopt.pages.facts import facts_of
from topoopt.pages.page import Block, Table
from topoopt.pages.rows import joined, number, table, text
from topoopt.pages.strategy_words import how_split
from topoopt.pages.words import runs, usd
from topoopt.plans import Plan
from topoopt.search import fullest_server
from topoopt.workloads import Weight


def strategy_table(plan: Plan) -> Table:
    """Return every operator: how it is split, where, what it weighs and how long a part takes."""
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
        number("parameters", "operator.weights", _together),
        number("forward", "part.forward_s"),
        number("backward", "part.backward_s"),
        text("time from", "part.source"),
        folded=len(splits) > 24,
    )


def _together(weights: Iterable[Weight]) -> str:
    return format_bytes(sum(weight.size_bytes for weight in weights))


def memory_table(plan: Plan) -> Table:
    """Return what the fullest accelerator holds, by cause."""
    use = fullest_server(plan.job, plan.strategy)
    there_is = find_accelerator(plan.job.cluster.accelerator).memory_bytes
    sizes = {**use.by_cause, "together": use.total_bytes, "there is": there_is}
    held = {what: size for what, size in sizes.items() if size}
    return table(
        f"Memory of an accelerator of server {use.server}, the fullest",
        joined(what=held, size=held.values()),
        text("what", "what", lambda what: what.replace("tables", "embedding tables")),
        number("size", "size", format_bytes),
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
