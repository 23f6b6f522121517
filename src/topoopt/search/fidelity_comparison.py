"""The fabrics of a comparison, each simulated at several fidelities: by how much the answers differ."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from topoopt.base.answers import Progress, silent
from topoopt.catalog import NETWORKS, OWN
from topoopt.finder import FabricShape, build_fabric
from topoopt.jobs import Job, job_traffic
from topoopt.plans import Baseline, ComparedFabric, Plan, TaskDifference
from topoopt.routing import Fabric
from topoopt.search.baselines import as_settled, fabric_request, ringed
from topoopt.search.candidates.candidate import outcome, task_graph_of
from topoopt.search.candidates.wiring_choice import balanced_fabric, usual_routes
from topoopt.search.gradient_buckets import job_of_baseline
from topoopt.simulation import COMPUTE, SimResult, SimulationOptions, simulate

MOST_TASKS = 20
"""Tasks of each fabric that differ most between simulators."""


def at_fidelities(
    plan: Plan,
    others: Sequence[Baseline],
    rows: Sequence[ComparedFabric],
    simulators: Sequence[str],
    options: SimulationOptions,
    on_progress: Progress = silent,
) -> tuple[ComparedFabric, ...]:
    """Return the rows of a comparison, the plan's own first, as each simulator has them.

    All simulators get one fabric. Where packets are among them, every switch of a fat-tree is there, and every
    transfer takes one path that is drawn for it, in the other simulators, too. Of algorithms for each message a fabric
    has rings where these were faster.
    """
    packets = "packet" in simulators
    if packets:
        options = replace(options, split="one")
    fabrics = [
        plan.fabric,
        *(fabric_of_baseline(plan.job, row, options.seed, packets, plan.fabric) for row in others),
    ]
    strategies = [plan.strategy, *(row.strategy for row in others)]
    jobs = [plan.job, *(job_of_baseline(plan.job, row) for row in others)]
    answer: list[ComparedFabric] = []
    for row, job, strategy, fabric in zip(rows, jobs, strategies, fabrics, strict=True):
        graph = task_graph_of(job, strategy)
        results = []
        for simulator in simulators:
            on_progress(f"simulating {row.fabric}: {simulator}", len(answer), len(rows))
            results.append(simulate(simulator, graph, fabric, as_settled(options, row.outcome)))
        answer.append(_by_each(row, results))
    return tuple(answer)


def _by_each(row: ComparedFabric, results: Sequence[SimResult]) -> ComparedFabric:
    first, last = results[0], results[-1]
    row = replace(row, outcome=outcome(first))
    if len(results) == 1:
        return row
    return replace(
        row,
        iteration_times_s={result.simulator: result.iteration_time_s for result in results},
        difference=last.iteration_time_s / first.iteration_time_s - 1,
        tasks=tuple(_tasks(results)),
    )


def _tasks(results: Sequence[SimResult]) -> Iterator[TaskDifference]:
    graph = results[0].graph
    seconds = np.stack([result.finish_s - result.start_s for result in results])
    gap = np.where(graph.kind == COMPUTE, 0.0, np.abs(seconds[-1] - seconds[0]))
    for task in np.argsort(-gap, kind="stable")[:MOST_TASKS].tolist():
        if gap[task] > 0:
            times_s = seconds[:, task].tolist()
            by_name = {result.simulator: time_s for result, time_s in zip(results, times_s, strict=True)}
            yield TaskDifference(task, graph.name(task), by_name, times_s[-1] - times_s[0])


def fabric_of_baseline(
    job: Job, other: Baseline, seed: int, switches: bool = False, own: Fabric | None = None
) -> Fabric:
    """Return the fabric of a baseline with rings laid; ``switches`` adds every switch of a fat-tree.

    ``own`` is the fabric of the plan, which direct cables have, too.
    """
    if own is not None and NETWORKS[other.fabric].timed_as == OWN:
        return own
    request = fabric_request(job.cluster, other.server_bandwidth_bps, seed)
    if switches and NETWORKS[other.fabric].trunks and "switches" in NETWORKS[other.fabric].settings:
        return build_fabric(other.fabric, replace(request, shape=FabricShape(switches=True)))
    laid = ringed(job, other.strategy, usual_routes(build_fabric(other.fabric, request), seed), seed)
    usual = other.routes in ("", laid.routes.method)  # balanced ones may be k-shortest with equal weights
    return laid if usual else balanced_fabric(job_traffic(job, other.strategy), laid)
