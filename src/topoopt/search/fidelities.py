"""The fabrics of a comparison, each simulated at several fidelities: by how much the answers differ."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.finder import FABRICS, FabricShape
from topoopt.job import Job, job_traffic
from topoopt.plan import Baseline, Plan, TaskDifference
from topoopt.routing import Fabric
from topoopt.search.baselines import fabric_request
from topoopt.search.progress import Progress, silent
from topoopt.search.tables import most_rings_of
from topoopt.search.task_graphs import task_graph_of
from topoopt.search.worth import with_rings
from topoopt.simulate import COMPUTE, SimResult, SimulationOptions, simulate

WITH_SWITCHES = ("fat-tree", "oversub-fat-tree")
"""Fabrics that plans draw with trunks in place of parallel switches."""


@dataclass(frozen=True, eq=False)
class Fidelities:
    """One fabric at several fidelities.

    Attributes
    ----------
    results : tuple of SimResult
        By each simulator, in the order in which they were named.
    """

    fabric: str
    description: str
    results: tuple[SimResult, ...]

    @property
    def difference(self) -> float:
        """Iteration time of the last simulator over that of the first, minus 1."""
        return self.results[-1].iteration_time_s / self.results[0].iteration_time_s - 1

    def tasks(self, most: int) -> list[TaskDifference]:
        """Return the tasks of the network whose times differ most between the first and the last simulator."""
        graph = self.results[0].graph
        seconds = np.stack([result.finish_s - result.start_s for result in self.results])
        gap = np.where(graph.kind == COMPUTE, 0.0, np.abs(seconds[-1] - seconds[0]))
        order = np.argsort(-gap, kind="stable")[:most]
        names = [result.simulator for result in self.results]
        times_s = {
            task: dict(zip(names, seconds[:, task].tolist(), strict=True))
            for task in order.tolist()
            if gap[task] > 0
        }
        return [
            TaskDifference(task, graph.name(task), times, times[names[-1]] - times[names[0]])
            for task, times in times_s.items()
        ]


def at_fidelities(
    plan: Plan,
    others: Iterable[Baseline],
    simulators: Sequence[str],
    options: SimulationOptions,
    on_progress: Progress = silent,
) -> Iterator[Fidelities]:
    """Yield the plan's own fabric and the others, each simulated by each simulator.

    All simulators get one fabric. Where packets are among them, every switch of a fat-tree is there, and every
    transfer takes one path that is drawn for it, in the other simulators, too.
    """
    packets = "packet" in simulators
    if packets:
        options = replace(options, split="one")
    fabrics = [(plan.fabric.name, "this plan", plan.strategy, plan.fabric)]
    for other in others:
        fabric = fabric_of_baseline(plan.job, other, options.seed, packets)
        fabrics.append((other.fabric, other.description, other.strategy, fabric))
    for place, (name, description, strategy, fabric) in enumerate(fabrics):
        graph = task_graph_of(plan.job, strategy)
        results = []
        for simulator in simulators:
            on_progress(f"simulating {name}: {simulator}", place, len(fabrics))
            results.append(simulate(simulator, graph, fabric, options))
        yield Fidelities(name, description, tuple(results))


def fabric_of_baseline(job: Job, other: Baseline, seed: int, switches: bool = False) -> Fabric:
    """Return what a baseline was simulated on, rings laid; ``switches`` draws every switch of a fat-tree."""
    cluster = job.cluster
    request = fabric_request(cluster, other.server_bandwidth_bps, seed)
    if switches and other.fabric in WITH_SWITCHES:
        return FABRICS[other.fabric](replace(request, shape=FabricShape(switches=True)))
    fabric = FABRICS[other.fabric](request)
    return with_rings(fabric, job_traffic(job, other.strategy), most_rings_of(cluster, fabric.topology), seed)
