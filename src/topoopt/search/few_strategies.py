"""A few strategies that stand for a search where there is no time for one: each an answer already, named in words."""

from collections.abc import Mapping

from topoopt.jobs import Job, operators_of
from topoopt.search.start import fits, starting_strategy
from topoopt.search.start_shapes import has_columns, layers_of, split_layers, split_tables
from topoopt.workloads.strategy import ParallelStrategy, data_parallel

COLUMNS = 2
"""Parts of a table; more of them take longer to simulate and gain little beyond."""
PARTS = (2, 4)
"""Parts of a layer, on its input channels."""


def few_strategies(job: Job) -> Mapping[str, ParallelStrategy]:
    """Return data parallelism, with tables in columns, and with layers split in a few parts, by what they are called.

    Raises
    ------
    Infeasible
        If memory is enforced and nothing fits.
    """
    servers = job.cluster.servers
    columns = has_columns(job) and servers % COLUMNS == 0
    tables = f", tables in {COLUMNS} columns" if columns else ""
    plain = data_parallel(operators_of(job).graph, servers)
    base = split_tables(job, plain, COLUMNS) if columns else plain
    found = {"data parallel": starting_strategy(job)}
    if columns:
        found[f"data parallel{tables}"] = base
    layers = layers_of(job)
    for parts in PARTS:
        if layers and servers % parts == 0:
            found[f"layers in {parts} parts{tables}"] = split_layers(job, base, parts, "in", layers)
    return {name: one for name, one in found.items() if name == "data parallel" or fits(job, one)}
