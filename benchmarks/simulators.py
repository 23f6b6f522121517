"""The simulators on whole jobs: DLRM on 128 and on 16 servers, from task graph to result."""

from collections.abc import Iterator

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.catalog import ClusterSpec
from topoopt.finder import FinderRules, find_topology
from topoopt.jobs import JobSettings, make_job, operators_of
from topoopt.routing import Fabric
from topoopt.simulation import IterationCosts, TaskGraph, build_task_graph, simulate
from topoopt.workloads import data_parallel, extract_traffic, load_model

ORIGINAL = "FlexNetPacket: packets, direct connect without rings at 128 servers; its fastest run at 16"


def dlrm(servers: int) -> tuple[TaskGraph, Fabric]:
    """DLRM with its tables placed in turn, on the topology found for it."""
    cluster = ClusterSpec(servers, degree=4, link_bandwidth_bps=100e9)
    job = make_job(load_model("dlrm", servers=servers), cluster, JobSettings(memory_check="off"))
    strategy = data_parallel(operators_of(job).graph, servers)
    traffic = extract_traffic(operators_of(job).graph, strategy, job.global_batch)
    fabric = find_topology(traffic, degree=4, bandwidth_bps=100e9, rules=FinderRules("all-to-allreduce"))
    return build_task_graph(
        operators_of(job).graph,
        strategy,
        operators_of(job).timer,
        IterationCosts(cluster.accelerators_per_server),
    ), fabric


def figures() -> Iterator[Figure]:
    for servers, limits, original in ((128, {"analytic": 0.05, "flow": 1.0}, 22.0), (16, {"flow": 0.1}, 0.2)):
        graph, fabric = dlrm(servers)
        for simulator, limit in limits.items():
            simulate(simulator, graph, fabric)  # compile the kernels
            seconds = best_cpu_seconds(lambda: simulate(simulator, graph, fabric))  # noqa: B023
            yield Figure(
                f"{simulator} simulator, DLRM, n={servers}",
                seconds,
                "CPU s",
                limit,
                False,
                original,
                ORIGINAL,
            )
