"""What a plan says in rows: the strategy by operator, its inputs and options, memory, price."""

from dataclasses import asdict

from topoopt.hardware import find_accelerator
from topoopt.job import operators_of
from topoopt.plan import Plan
from topoopt.report.facts import facts_of
from topoopt.report.page import Facts, Table
from topoopt.report.words import runs, usd
from topoopt.search import fullest_server
from topoopt.strategy import OperatorSplit
from topoopt.units import format_bytes, format_time

DIMENSIONS = {"out": "output channels", "in": "input channels", "rows": "rows", "columns": "columns"}


def strategy_table(plan: Plan) -> Table:
    """Return every operator: how it is split, where, what it weighs and how long a part takes."""
    rows, work = [], operators_of(plan.job)
    for index, (operator, split) in enumerate(zip(work.graph.operators, plan.strategy.splits, strict=True)):
        time = work.time(index, split)
        rows.append(
            (
                operator.name,
                operator.kind,
                how_split(split),
                runs(tuple(split.servers(plan.strategy.servers))),
                format_bytes(sum(weight.size_bytes for weight in operator.weights)),
                format_time(time.forward_s),
                format_time(time.backward_s),
                time.source,
            )
        )
    numbers = ("parameters", "forward", "backward")
    columns = ("operator", "kind", "how it is split", "servers", *numbers, "time from")
    return Table("Every operator", columns, tuple(rows), numbers, folded=len(rows) > 24)


def how_split(split: OperatorSplit) -> str:
    """Return ``data parallel in 128``, ``rows split in 4``, both, or ``on one server``."""
    parts = []
    if split.channel_degree > 1:
        parts.append(
            f"{DIMENSIONS.get(split.channel_dim, split.channel_dim)} split in {split.channel_degree}"
        )
    if split.batch_degree > 1:
        parts.append(f"data parallel in {split.batch_degree}")
    return ", ".join(parts) or "on one server"


def memory_table(plan: Plan) -> Table:
    """Return what the fullest accelerator holds, by cause."""
    use = fullest_server(plan.job, plan.strategy)
    causes = {
        "parameters": use.parameters_bytes,
        "gradients": use.gradients_bytes,
        "optimizer": use.optimizer_bytes,
        "embedding tables": use.embedding_bytes,
        "activations": use.activations_bytes,
        "together": use.total_bytes,
        "there is": find_accelerator(plan.job.cluster.accelerator).memory_bytes,
    }
    rows = tuple((name, format_bytes(size)) for name, size in causes.items() if size)
    return Table(
        f"Memory of an accelerator of server {use.server}, the fullest", ("what", "size"), rows, ("size",)
    )


def bill_table(plan: Plan) -> Table | None:
    """Return the bill of the plan's network, None where there is none."""
    lines = plan.price.get("bill") or []
    if not lines:
        return None
    rows = [
        (
            _part(str(line["item"])),
            f"{line['count']:,.0f}",
            f"${line['unit_usd']:,.2f}",
            usd(line["total_usd"]),
        )
        for line in lines
    ]
    total = ("together", "", "", usd(plan.price.get("cost_usd")))
    numbers = ("count", "each", "price")
    return Table(f"Bill, prices of {plan.price.get('prices')}", ("part", *numbers), (*rows, total), numbers)


def settings_facts(plan: Plan) -> Facts:
    """Return how time and memory of the operators are counted."""
    return facts_of("How time and memory are counted", asdict(plan.job.settings))


def accounting_facts(plan: Plan) -> Facts:
    """Return how the price is counted."""
    return facts_of("Accounting of the price", plan.price.get("accounting") or {})


def _part(item: str) -> str:
    """Return ``patch panel port``, ``NIC`` or ``fiber (m)``."""
    words = item.removesuffix("_m").replace("_", " ").replace("nic", "NIC")
    return f"{words} (m)" if item.endswith("_m") else words
