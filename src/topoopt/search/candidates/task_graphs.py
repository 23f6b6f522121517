"""Task graphs by kind of work: what the simulators run."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from weakref import WeakValueDictionary

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.jobs import Job, OperatorsWork, TrafficWork, operators_of, transformer_of
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    TaskGraph,
    TaskRows,
    analytic_flows,
    build_task_graph,
    pipeline_task_graph,
    task_graph_from_edges,
)
from topoopt.workloads import ParallelStrategy, Traffic
from topoopt.workloads.pipelined_step import PipelinedStep

LARGEST_TO_KEEP = 256
"""Servers up to which the last task graphs are kept: one strategy is simulated on every fabric of a comparison. Above
it is the last one only: a million tasks take 200 MB, and a strategy goes through all fabrics before the next one."""

LAYOUTS_TO_KEEP = 32
"""Task graphs of layouts that are kept: all of them are simulated on every fabric."""

LARGE_GRAPH = 300_000
"""Tasks from which on only the last graph of a layout is kept: about 200 bytes a task. A layout goes through all
fabrics before the next one."""


def task_graph_of(job: Job, strategy: ParallelStrategy, iterations: int = 1) -> TaskGraph:
    """Return the task graph of a job under a strategy."""
    return TASK_GRAPHS[job.work.kind](job, strategy, iterations)


def _of_operators(job: Job, strategy: ParallelStrategy, iterations: int) -> TaskGraph:
    kept = job.cluster.servers <= LARGEST_TO_KEEP
    costs = job.cluster.accelerators_per_server, job.cluster.intra_server_bandwidth_bps
    return (_kept_task_graph if kept else _last_task_graph)(
        operators_of(job),
        strategy,
        (*costs, job.settings.embedding_bytes_factor, iterations, job.settings.usual_bucket_bytes),
    )


_Costs = tuple[int, float, int, int, int]


def _known_task_graph(work: OperatorsWork, strategy: ParallelStrategy, costs: _Costs) -> TaskGraph:
    """Return the graph. Jobs whose other settings differ have the same; one that anybody still has is not made anew."""
    known = _IN_USE.get((work, strategy, costs))
    if known is None:
        known = build_task_graph(work.graph, strategy, work.timer, *costs)
        _IN_USE[work, strategy, costs] = known
    return known


_IN_USE: WeakValueDictionary[tuple[OperatorsWork, ParallelStrategy, _Costs], TaskGraph] = (
    WeakValueDictionary()
)


_kept_task_graph = lru_cache(maxsize=4)(_known_task_graph)
_last_task_graph = lru_cache(maxsize=1)(_known_task_graph)


def _of_traffic(job: Job, strategy: ParallelStrategy, iterations: int) -> TaskGraph:
    """Return all transfers and AllReduces at once; where servers compute, too, a part beside that, the rest after."""
    work = job.work
    assert isinstance(work, TrafficWork)
    servers = job.cluster.servers
    if not work.compute_s:
        nothing = np.zeros(0, np.int64)
        return task_graph_from_edges(servers, _moved(work.demand, 1.0), nothing, nothing)
    hidden, after = _moved(work.demand, work.hidden_share), _moved(work.demand, 1.0, work.hidden_share)
    compute = TaskRows(COMPUTE, servers, duration_s=work.compute_s, server=np.arange(servers))
    # nothing of the rest moves before every server that takes part has computed
    waiting = servers + sum(row.count for row in hidden)
    ends = [end for rows in after for end in _ends(rows)]
    edges = [(server, waiting + task) for task, at in enumerate(ends) for server in at]
    before, behind = np.array(edges, np.int64).reshape(-1, 2).T
    return task_graph_from_edges(servers, [compute, *hidden, *after], before, behind)


def _moved(demand: Traffic, until: float, begin: float = 0.0) -> list[TaskRows]:
    """Return the part of all transfers and AllReduces from one share of their bytes to another, without empty ones."""

    def part(sizes: Ints) -> Ints:
        whole: Ints = np.rint(sizes * until).astype(np.int64) - np.rint(sizes * begin).astype(np.int64)
        return whole

    moved, groups = demand.transfers, demand.allreduce
    sizes = part(moved.size_bytes)
    kept = sizes > 0
    rows = [
        TaskRows(TRANSFER, int(kept.sum()), src=moved.src[kept], dst=moved.dst[kept], size_bytes=sizes[kept])
    ]
    of_groups = part(np.array([group.size_bytes for group in groups], np.int64))
    members = tuple(group.members for group, size in zip(groups, of_groups, strict=True) if size > 0)
    if members:
        alike = COLLECTIVES.index("allreduce")
        reduced = of_groups[of_groups > 0]
        rows.append(TaskRows(COLLECTIVE, len(members), size_bytes=reduced, collective=alike, members=members))
    return rows


def _ends(rows: TaskRows) -> Sequence[tuple[int, ...]]:
    """Return the servers that take part in each task of some rows."""
    if rows.members:
        return rows.members
    return [(int(src), int(dst)) for src, dst in zip(rows.src, rows.dst, strict=True)]  # type: ignore[arg-type]


def _of_transformer(job: Job, strategy: ParallelStrategy, iterations: int) -> TaskGraph:
    step = transformer_of(job).layout(strategy).step
    large = analytic_flows(step) * iterations >= LARGE_GRAPH
    return (_last_of_step if large else _of_step)(step, iterations)


_of_step = lru_cache(maxsize=LAYOUTS_TO_KEEP)(pipeline_task_graph)


def _last_of_step(step: PipelinedStep, iterations: int) -> TaskGraph:
    if (step, iterations) not in _LAST:
        _LAST.clear()  # before the next one is made
        _LAST[step, iterations] = pipeline_task_graph(step, iterations)
    return _LAST[step, iterations]


_LAST: dict[tuple[PipelinedStep, int], TaskGraph] = {}


TASK_GRAPHS: Mapping[str, Callable[[Job, ParallelStrategy, int], TaskGraph]] = {
    "operators": _of_operators,
    "traffic": _of_traffic,
    "transformer": _of_transformer,
}
