"""Finding a topology: a job's with its model-parallel traffic, a hall's with link loads, and the largest circulant."""

import resource
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.finder import STRIDE_RULES, FinderRules, find_topology, lay_rings
from topoopt.routing import Fabric, link_loads
from topoopt.topologies import broadcast_steps, expander
from topoopt.workloads import data_parallel, extract_traffic, load_model
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Traffic

BANDWIDTH_BPS = 100e9
LARGEST = 65_536
GIGABYTE = 1e9


def dlrm_traffic(servers: int) -> Traffic:
    """What DLRM moves when its tables are placed in turn and the rest is replicated."""
    graph = load_model("dlrm", servers=servers)
    batch = servers * 4 * graph.batch_per_accelerator
    return extract_traffic(graph, data_parallel(graph, servers), batch)


def hall_traffic(servers: int) -> Traffic:
    """One AllReduce and one all-to-all over a whole hall of servers."""
    everyone = tuple(range(servers))
    return Traffic(servers, (AllReduceGroup(everyone, 10**9),), (AllToAllGroup(everyone, 10**4),))


def find(traffic: Traffic, degree: int, degree_split: str = "proportional") -> Fabric:
    return find_topology(traffic, degree=degree, bandwidth_bps=BANDWIDTH_BPS, rules=FinderRules(degree_split))


def hall(servers: int, degree: int) -> None:
    """Find the topology of a hall with all routes, and the bytes on each of its links."""
    traffic = hall_traffic(servers)
    fabric = find(traffic, degree, "all-to-allreduce")
    link_loads(fabric.topology, fabric.routes, traffic.mp_matrix())


def largest() -> None:
    """Find the largest circulant; run in a process of its own, whose memory it prints."""
    everyone = tuple(range(LARGEST))
    traffic = Traffic(LARGEST, (AllReduceGroup(everyone, 10**9),))
    seconds = best_cpu_seconds(lambda: find(traffic, 8), repeats=1)
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIGABYTE)


def all_groups(servers: int) -> list[tuple[int, ...]]:
    """Every regular group of two or more: what a strategy search can ask rings for."""
    sizes = [size for size in range(2, servers + 1) if servers % size == 0]
    steps = [servers // size for size in sizes]
    return [tuple(range(start, servers, step)) for step in steps for start in range(step)]


def best_strides() -> None:
    """Search the strides of 128 servers anew: their rule remembers its answers, which would cost nothing."""
    rule = STRIDE_RULES["best"]
    rule.__wrapped__(128, 4, "duplex")  # type: ignore[attr-defined]


def rings_of_all_groups(fabric: Fabric, groups: list[tuple[int, ...]]) -> None:
    for group in groups:
        lay_rings(fabric.topology, fabric.routes, group, 4)


def figures() -> Iterator[Figure]:
    job = dlrm_traffic(128)
    find(job, 4)  # compile the kernels
    yield Figure("find_topology, DLRM, n=128 d=4", best_cpu_seconds(lambda: find(job, 4)), "CPU s", 0.020)
    yield Figure(
        "find_topology and loads, n=4,096 d=8", best_cpu_seconds(lambda: hall(4096, 8)), "CPU s", 1.0
    )
    yield Figure("best strides, n=128 d=8, not remembered", best_cpu_seconds(best_strides), "CPU s", 0.020)
    random = expander(1024, 4, BANDWIDTH_BPS)
    broadcast_steps(random)  # compile the kernel
    counted = best_cpu_seconds(lambda: broadcast_steps(random))
    yield Figure("steps and bytes of a broadcast, n=1,024 d=4", counted, "CPU s", 0.040)
    fabric, groups = find(job, 4), all_groups(128)
    rings = best_cpu_seconds(lambda: rings_of_all_groups(fabric, groups))
    yield Figure("rings of all 127 groups, n=128 d=4", rings, "CPU s", 0.050)
    command = [sys.executable, "-c", "from benchmarks.topology import largest; largest()"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, gigabytes = (float(word) for word in printed.split())
    yield Figure("find_topology, n=65,536 d=8, with compiling", seconds, "CPU s", 10)
    yield Figure("find_topology, n=65,536 d=8, memory", gigabytes, "GB", 4)
