"""SimAI's files: the wiring with every accelerator a host, and the workload of a job that is data parallel alone.

The wiring as a topology file of ns-3, in the two dialects of ASTRA-sim and SimAI.

A host of these never forwards; so every server is a host and a switch of its own, which have a link of all interfaces
between them, and cables go from switch to switch. Packets take shortest paths by hops, spread by a hash: other routes
cannot be expressed, and a plan that has them is refused.

ASTRA-sim's files of system and network beside Chakra's traces, where its analytical network can express the wiring.

That network has rings in the order of ranks, networks of all pairs, and switches, which no plan of fixed links has.

References
----------
.. [1] github.com/aliyun/SimAI: first line of a topology (nodes, accelerators of a server, NVSwitches, switches, links,
   kind of accelerator), and the lines of a workload (``example/microAllReduce_dp.txt``).
.. [2] github.com/astra-sim/astra-sim, ``examples/network/ns3/topology``: the lines of a file.
.. [3] github.com/aliyun/SimAI, ``ns-3-alibabacloud``, ``common.h``: which kinds of nodes forward, and the first line.
.. [4] github.com/astra-sim/astra-network-analytical: ``topology``, ``npus_count``, ``bandwidth`` (named GB/s,
   computed with 2^30 bytes), ``latency`` (ns); with contention it takes one dimension.
.. [5] github.com/astra-sim/astra-sim, ``examples/system``, ``examples/run_scripts``: keys and flags.
"""

import json
from collections.abc import Iterator

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.base.units import format_bandwidth
from topoopt.catalog import find_accelerator
from topoopt.plans import Plan
from topoopt.plugins.exports.deployment import Contents, Deployment
from topoopt.routing import path_arrays, used_paths
from topoopt.search import task_graph_of
from topoopt.simulation import COMPUTE, TRANSFER, ChakraFiles, TaskGraph, chakra_files, pair_demands
from topoopt.topologies import Ring, Topology, hops_from

PREFIX = "plan"
"""Prefix of the names of traces."""
_GIB = 2**30
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
RUN = f"""\
#!/bin/sh
# ASTRA_SIM: the binary of its analytical network with contention; TRACES: the files of format chakra
"${{ASTRA_SIM:-AstraSim_Analytical_Congestion_Aware}}" \\
  --workload-configuration="${{TRACES:-../chakra}}/{PREFIX}" \\
  --comm-group-configuration="${{TRACES:-../chakra}}/comm_group.json" \\
  --system-configuration=system.json \\
  --network-configuration=network.yml \\
  --remote-memory-configuration=remote_memory.json
"""
NETWORK = """\
# A server's link has {link}, and its AllReduces send {used} on all of its links together. ASTRA-sim's collective sends
# on {theirs} at a time, so each gets as much as makes it last as long as the plan's. What one server sends
# to another gets this bandwidth, too.
topology: [ {shape} ]
npus_count: [ {servers} ]
bandwidth: [ {gib} ]  # 2^30 bytes a second
latency: [ {latency} ]  # ns
"""
HOST_LATENCY_MS = 1e-6
"""Latency between a host and its own switch: a nanosecond, since ns-3 takes zero for none."""
README = """\
topology.txt            The plan's wiring: hosts 0 to {last}, and behind each of them a switch of its own, since a host
                        does not forward (TOPOLOGY_FILE of the ns-3 configuration).
logical_topology.json   --logical-topology-configuration
system.json             --system-configuration
Traces and groups are those of format chakra. Routes are ns-3's own: by hops, and where several paths are the shortest,
hashed over all of them. The plan's routes are shortest paths, too, but their shares of bytes cannot be said. A
collective of ASTRA-sim is one ring in the order of ranks, which sends in one direction; the plan's use {rings} at once,
for which system.json has no word: expect its collectives to take longer by as much.
"""
KINDS = ("A100", "A800", "H100", "H800")
"""Accelerators that SimAI supports."""
INSIDE_LATENCY_MS = 2.5e-5
"""Latency from an accelerator to the switch inside its server, as in SimAI's own topologies."""


def simai(deployment: Deployment) -> Contents:
    """Return SimAI's topology and workload.

    An accelerator has links to the switch inside its server and to the server's own switch on the network, there with
    an equal part of the server's bandwidth. A layer's AllReduce is the bucket of gradients that ends with it.

    Raises
    ------
    Infeasible
        If SimAI lacks the accelerator, the job sends anything but AllReduces of all servers, links are one-way,
        or routes are not the shortest.
    """
    cluster = deployment.plan.job.cluster
    name = find_accelerator(cluster.accelerator).name
    kind = next((known for known in KINDS if name.startswith(known)), None)
    if kind is None:
        raise Infeasible(f"SimAI knows the accelerators {', '.join(KINDS)}, not {name}")
    plan = deployment.plan
    n, each = plan.fabric.topology.servers, plan.job.cluster.accelerators_per_server
    graph = task_graph_of(plan.job, plan.strategy)
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
    layers = [_layer(graph, operator) for operator in range(len(graph.operator_names))]
    head = (
        f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {n * each} "
        "checkpoints: 0 checkpoint_initiates: 0"
    )
    workload = "\n".join((head, str(len(layers)), *layers)) + "\n"
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


def _layer(graph: TaskGraph, operator: int) -> str:
    """Return an operator: its forward pass, its backward pass for inputs and weights together, and its AllReduce."""
    here = (graph.operator == operator) & (graph.server == 0) & (graph.kind == COMPUTE)
    forward_s, backward_s = (graph.duration_s[here & (graph.phase == phase)].sum() for phase in (0, 1))
    sizes = graph.size_bytes[(graph.operator == operator) & (graph.kind != COMPUTE)]
    name = graph.operator_names[operator].replace(" ", "_")
    forward, backward = (str(int(np.rint(seconds * 1e9))) for seconds in (forward_s, backward_s))
    gradient = ("ALLREDUCE", str(int(sizes.sum()))) if len(sizes) else ("NONE", "0")
    return "\t".join((name, "-1", forward, "NONE", "0", "0", "NONE", "0", backward, *gradient, "1"))


def astra_sim_ns3(deployment: Deployment) -> Contents:
    """Return the topology for ASTRA-sim's ns-3, rank r on server r, with its files beside the traces.

    Raises
    ------
    Infeasible
        If links are one-way, or the plan's routes are not shortest paths.
    """
    check_routes(deployment)
    cluster, n = deployment.plan.job.cluster, deployment.plan.fabric.topology.servers
    own = [
        _line(host, n + host, cluster.degree * cluster.link_bandwidth_bps, HOST_LATENCY_MS)
        for host in range(n)
    ]
    lines = [*own, *cable_lines(deployment, n)]
    switches = " ".join(map(str, range(n, 2 * n)))
    rings = max(map(len, deployment.plan.fabric.rings.values()), default=1)
    return {
        "topology.txt": "\n".join((f"{2 * n} {n} {len(lines)}", switches, *lines)) + "\n",
        "logical_topology.json": json.dumps({"logical-dims": [str(n)]}) + "\n",
        "system.json": json.dumps(system("ring"), indent=1) + "\n",
        "README.txt": README.format(last=n - 1, rings=rings),
    }


def cable_lines(deployment: Deployment, first: int) -> Iterator[str]:
    """Yield the cables between the servers' switches, numbered from ``first``; parallel ones are merged."""
    for link in deployment.plan.fabric.topology:
        if link.src < link.dst:
            yield _line(first + link.src, first + link.dst, link.bandwidth_bps, link.latency_s * 1e3)


def _line(src: int, dst: int, bandwidth_bps: float, latency_ms: float) -> str:
    return f"{src} {dst} {bandwidth_bps / 1e9:g}Gbps {milliseconds(latency_ms)} 0"


def milliseconds(time_ms: float) -> str:
    """Return a time as these files have it, without an exponent."""
    return f"{time_ms:.9f}".rstrip("0").rstrip(".") + "ms"


def check_routes(deployment: Deployment) -> None:
    """Refuse a plan that ns-3 would route otherwise.

    Raises
    ------
    Infeasible
        If links are one-way, or bytes take a path that is not one of the shortest.
    """
    plan = deployment.plan
    if not plan.fabric.topology.both_ways:
        raise Infeasible("links go one way; ns-3's point-to-point links go both ways")
    _, src, dst, _ = pair_demands(task_graph_of(plan.job, plan.strategy))
    n = plan.fabric.topology.servers
    pairs = np.unique(src * n + dst)
    src, dst = np.divmod(pairs, n)
    hops = hops_from(plan.fabric.topology, np.arange(n))
    paths = used_paths(path_arrays(plan.fabric.routes, src, dst))
    pair = np.repeat(np.arange(len(src)), np.diff(paths.path_first))
    longer = np.diff(paths.node_first) - 1 > hops[src[pair], dst[pair]]
    detours = len(np.unique(pair[longer]))
    segments = [
        segment for rings in plan.fabric.rings.values() for ring in rings for segment in _segments(ring)
    ]
    around = sum(int(hops[a, b]) < length for a, b, length in segments)
    if detours or around:
        ways = f"{detours} of {len(pairs)} pairs of servers" if detours else f"{around} neighbors on rings"
        raise Infeasible(
            f"{ways} send along paths that are not the shortest, and ns-3 takes none but the shortest"
        )


def _segments(ring: Ring) -> Iterator[tuple[int, int, int]]:
    """Yield neighbors on a ring and the links between them, where these are several."""
    if ring.hops == len(ring.members):
        return
    members, walk = set(ring.members), (*ring.walk, ring.walk[0])
    last = 0
    for place in range(1, len(walk)):
        if walk[place] in members and place - last > 1:
            yield walk[last], walk[place], place - last
        if walk[place] in members:
            last = place


def astra_sim(deployment: Deployment) -> Contents:
    """Return ASTRA-sim's inputs besides the traces, and the command.

    Raises
    ------
    Infeasible
        If the wiring is neither a ring in the order of ranks, nor joins all pairs, with links that are alike.
    """
    plan, topology = deployment.plan, deployment.plan.fabric.topology
    shape = _shape(topology)
    if (devices := 1 + int(task_graph_of(plan.job, plan.strategy).accelerator.max(initial=0))) > 1:
        raise Infeasible(
            f"a rank of ASTRA-sim computes one operator at a time; this plan computes on {devices} devices of a "
            "server; plan fewer stages a server, or give the traces of format chakra to topoopt simulate"
        )
    link_bps, latency_ns = topology.bandwidth_bps[0], topology.latency_s[0] * 1e9
    theirs = 1 if shape == "Ring" else topology.servers - 1
    bandwidth_bps = link_bps * (_links_on_rings(plan) or theirs) / theirs
    network = NETWORK.format(
        shape=shape,
        servers=topology.servers,
        gib=f"{bandwidth_bps / 8 / _GIB:.9g}",
        latency=f"{latency_ns:.9g}",
        link=format_bandwidth(link_bps),
        used=format_bandwidth(bandwidth_bps * theirs),
        theirs=f"{theirs} link{'s' * (theirs > 1)}",
    )
    files = {
        "network.yml": network,
        "system.json": json.dumps(system("ring" if shape == "Ring" else "direct"), indent=1) + "\n",
        "remote_memory.json": json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}) + "\n",
        "run.sh": RUN,
    }
    return files


def _links_on_rings(plan: Plan) -> float:
    """Return how many links of a server AllReduces of the largest group send on; 0 if they take no ring."""
    largest = max(plan.fabric.rings, key=len, default=())
    if not largest or "bfb" in plan.outcome.algorithms:
        return 0
    n = plan.fabric.topology.servers
    used = {
        edge
        for ring in plan.fabric.rings[largest]
        for src, dst in (ring.edges(),)
        for edge in (src * n + dst).tolist()
    }
    return len(used) / len(largest)


def system(algorithm: str) -> dict[str, object]:
    """Return the system layer: one chunk at a time, and collectives by one algorithm, as the plan was simulated."""
    ways = {f"{name}-implementation": [algorithm] for name in _COLLECTIVES}
    return {
        "scheduling-policy": "FIFO",
        "endpoint-delay": 0,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 1,
        **ways,
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1600,
        "boost-mode": 0,
        "roofline-enabled": 0,
    }


def _shape(topology: Topology) -> str:
    """Return the kind of network that a wiring is."""
    n = topology.servers
    alike = np.ptp(topology.bandwidth_bps) == 0 and np.ptp(topology.latency_s) == 0
    step = (topology.dst - topology.src) % n
    if alike and len(topology) == n * (n - 1):
        return "FullyConnected"
    if alike and len(topology) == 2 * n and set(step.tolist()) == {1, n - 1}:
        return "Ring"
    raise Infeasible(
        "ASTRA-sim's analytical network knows rings in the order of ranks, networks of all pairs and switches; this "
        f"wiring of {n} servers and {len(topology)} links is none; see format astra-sim-ns3"
    )


def chakra(deployment: Deployment) -> Contents:
    """Return the trace of each server, and the process groups.

    Raises
    ------
    Infeasible
        If there are too many tasks.
    """
    traces = plan_traces(deployment)
    files = {f"{PREFIX}.{rank}.et": data for rank, data in enumerate(traces.ranks)}
    return {**files, "comm_group.json": json.dumps(traces.groups) + "\n"}


def plan_traces(deployment: Deployment) -> ChakraFiles:
    """Return the traces of a plan's job, whose collectives run as the plan has it."""
    job = deployment.plan.job
    return chakra_files(task_graph_of(job, deployment.plan.strategy), job.settings.collective)
