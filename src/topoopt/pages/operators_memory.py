"""The memory of the fullest accelerator of a job of operators, as a bar beside what there is."""

from topoopt.base.units import format_bytes
from topoopt.catalog import find_accelerator
from topoopt.pages.chart import BarChart, Limit, Series
from topoopt.plans import Plan
from topoopt.search import fullest_server

GIGABYTE = 1e9


def memory_picture(plan: Plan) -> BarChart:
    """Return what the fullest accelerator holds, by cause, in GB, with a line at what it has."""
    use = fullest_server(plan.job, plan.strategy)
    available_bytes = find_accelerator(plan.job.cluster.accelerator).memory_bytes
    where = (f"server {use.server}",)
    return BarChart(
        "memory",
        "Memory of the fullest accelerator, by cause",
        "",
        "memory (GB)",
        tuple(Series(cause, where, (size / GIGABYTE,)) for cause, size in use.by_cause.items() if size),
        stacked=True,
        horizontal=True,
        limits=(Limit(available_bytes / GIGABYTE, f"an accelerator has {format_bytes(available_bytes)}"),),
    )
