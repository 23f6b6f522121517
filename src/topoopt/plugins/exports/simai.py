"""SimAI's files: the wiring with every accelerator a host, and the workload of a job that is data parallel alone.

References
----------
.. [1] github.com/aliyun/SimAI: first line of a topology (nodes, accelerators of a server, NVSwitches, switches, links,
   kind of accelerator), and the lines of a workload (``example/microAllReduce_dp.txt``).
"""

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.catalog import find_accelerator
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.ns3_topology import cable_lines, check_routes, milliseconds
from topoopt.search import task_graph_of
from topoopt.simulation import COMPUTE, TRANSFER, TaskGraph

KINDS = ("A100", "A800", "H100", "H800")
"""Accelerators that SimAI knows."""
INSIDE_LATENCY_MS = 2.5e-5
"""From an accelerator to the switch inside its server, as in SimAI's own topologies."""


def simai(deployment: Deployment) -> Contents:
    """Return SimAI's topology and workload.

    An accelerator has links to the switch inside its server and to the server's own switch on the network, there with
    an equal part of the server's bandwidth. A layer's AllReduce is the bucket of gradients that ends with it.

    Raises
    ------
    Infeasible
        If SimAI does not know the accelerator, the job sends anything but AllReduces of all servers, links go one way,
        or routes are not the shortest.
    """
    cluster = deployment.plan.job.cluster
    name = find_accelerator(cluster.accelerator).name
    kind = next((known for known in KINDS if name.startswith(known)), None)
    if kind is None:
        raise Infeasible(f"SimAI knows the accelerators {', '.join(KINDS)}, not {name}")
    workload = _workload(deployment)
    check_routes(deployment)
    return {"topology.txt": _topology(deployment, kind), "workload.txt": workload}


def _topology(deployment: Deployment, kind: str) -> str:
    cluster, n = deployment.plan.job.cluster, deployment.plan.fabric.topology.servers
    each = cluster.accelerators_per_server
    inside, outside = n * each, n * each + n  # first switch inside a server, first on the network
    inner, outer = (
        cluster.intra_server_bandwidth_bps / 1e9,
        cluster.degree * cluster.link_bandwidth_bps / each / 1e9,
    )
    lines = []
    for accelerator in range(n * each):
        server = accelerator // each
        lines.append(f"{accelerator} {inside + server} {inner:g}Gbps {milliseconds(INSIDE_LATENCY_MS)} 0")
        lines.append(f"{accelerator} {outside + server} {outer:g}Gbps {milliseconds(INSIDE_LATENCY_MS)} 0")
    lines += cable_lines(deployment, outside)
    switches = " ".join(map(str, range(inside, outside + n)))
    head = f"{n * each + 2 * n} {each} {n} {n} {len(lines)} {kind}"
    return "\n".join((head, switches, *lines)) + "\n"


def _workload(deployment: Deployment) -> str:
    plan = deployment.plan
    n, each = plan.fabric.topology.servers, plan.job.cluster.accelerators_per_server
    graph = task_graph_of(plan.job, plan.strategy)
    _check_data_parallel(graph)
    layers = [_layer(graph, operator) for operator in range(len(graph.operator_names))]
    head = (
        f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {n * each} "
        "checkpoints: 0 checkpoint_initiates: 0"
    )
    return "\n".join((head, str(len(layers)), *layers)) + "\n"


def _check_data_parallel(graph: TaskGraph) -> None:
    everyone = (tuple(range(graph.servers)),)
    if not graph.operator_names or (graph.kind == TRANSFER).any() or graph.groups != everyone:
        raise Infeasible(
            "a workload of SimAI sends by collectives of regular groups alone; this job has transfers between servers, "
            "or groups of some of them"
        )
    kinds = {int(graph.collective[task]) for task in graph.collectives}
    if kinds != {0}:
        raise Infeasible(
            "a workload of SimAI is written for AllReduces of gradients alone; this job has other collectives"
        )


def _layer(graph: TaskGraph, operator: int) -> str:
    """Return an operator: its forward pass, its backward pass for inputs and weights together, and its AllReduce."""
    here = (graph.operator == operator) & (graph.server == 0) & (graph.kind == COMPUTE)
    forward_s, backward_s = (graph.duration_s[here & (graph.phase == phase)].sum() for phase in (0, 1))
    sizes = graph.size_bytes[(graph.operator == operator) & (graph.kind != COMPUTE)]
    name = graph.operator_names[operator].replace(" ", "_")
    forward, backward = (str(int(np.rint(seconds * 1e9))) for seconds in (forward_s, backward_s))
    gradient = ("ALLREDUCE", str(int(sizes.sum()))) if len(sizes) else ("NONE", "0")
    return "\t".join((name, "-1", forward, "NONE", "0", "0", "NONE", "0", backward, *gradient, "1"))
