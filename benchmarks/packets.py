"""The packet engine: packet-hops a CPU second, and CPU seconds and memory of DLRM on 128 servers, on three fabrics."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from benchmarks.figure import Figure
from benchmarks.reference_replay import COMPATIBLE, fabric, task_graph
from benchmarks.simulators import dlrm
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import SimulationOptions, TaskGraph, simulate

SPEED = "FlexNetPacket at its fastest: 2.4 to 8.5 M/s on 16 to 32 servers, 0.45 to 2.8 on 128"
SECONDS = "FlexNetPacket on 128-server DLRM: 27 to 33 s on an ideal switch, 50 s with 4 rings, 109 s with 8"
MEMORY = "FlexNetPacket at its smallest: 0.8 to 4.8 GB"
EIGHT_LINKS = (1, 5, 13, 39)
"""Strides of the circulant with eight links a server."""

Case = tuple[TaskGraph, Fabric]


def replayed(graph: str, on: str, gbps: float) -> Case:
    """Return one of the authors' task graphs on a fabric."""
    return task_graph(graph), fabric(graph, on, gbps)


def on_eight_links() -> Case:
    """Return DLRM on 128 servers with eight links of 100 Gb/s each, and eight rings along them.

    A transfer takes one breadth-first path, as in the authors' files.
    """
    graph = task_graph("25dlrm_128")
    shape = FabricShape(strides=EIGHT_LINKS, routing="single-shortest")
    return graph, build_fabric("topoopt", FabricRequest(graph.servers, 8, 100e9, graph.groups, shape=shape))


SMALL: Mapping[str, Callable[[], Case]] = {
    "VGG, n=16, ideal switch": lambda: replayed("100vgg_16", "ideal-switch", 100),
    "VGG, n=16, fat-tree": lambda: replayed("100vgg_16", "fat-tree", 100),
    "CANDLE, n=16, ideal switch": lambda: replayed("100candle_16", "ideal-switch", 100),
    "VGG, n=16, 4 rings": lambda: replayed("100vgg_16_circ_d4_rings", "own", 100),
    "DLRM, n=16, 4 rings": lambda: replayed("200dlrm_16_circ_d4_rings", "own", 100),
    "DLRM, n=32, 4 rings": lambda: dlrm(32),
}
LARGE: Mapping[str, tuple[Callable[[], Case], float, float]] = {
    "ideal switch": (lambda: replayed("25dlrm_128", "ideal-switch", 100), 10, 27),
    "4 rings": (lambda: replayed("25dlrm_128_circ_d4_rings", "own", 100), 10, 50),
    "8 rings": (on_eight_links, 15, 109),
}
"""DLRM on 128 servers, with the most CPU seconds that we accept and those of the original."""


def figures() -> Iterator[Figure]:
    compile_kernel()
    for what, make in SMALL.items():
        case = make()
        hops, seconds = min((run(*case) for _ in range(3)), key=lambda measured: measured[1])
        yield Figure(f"packets, {what}", hops / seconds / 1e6, "M packet-hops/s", 8, True, 8.5, SPEED)
    for what, (_, limit_s, original_s) in LARGE.items():
        hops, seconds, peak_gb = in_a_process(what)
        name = f"packets, DLRM, n=128, {what}"
        yield Figure(name, hops / seconds / 1e6, "M packet-hops/s", 5, True, 2.8, SPEED)
        yield Figure(name, seconds, "CPU s", limit_s, False, original_s, SECONDS)
        yield Figure(name, peak_gb, "GB, process", 1, False, 0.8, MEMORY)


def compile_kernel() -> None:
    """Compile or load the engine, which is no part of a run's time."""
    run(*SMALL["DLRM, n=16, 4 rings"]())


def run(graph: TaskGraph, on: Fabric) -> tuple[int, float]:
    """Return packet-hops, and CPU seconds from task graph to result."""
    began = time.process_time()
    result = simulate("packet", graph, on, SimulationOptions(packet=COMPATIBLE))
    assert result.packet is not None
    return result.packet.packet_hops, time.process_time() - began


def in_a_process(what: str) -> tuple[int, float, float]:
    """Run a large case in a process of its own; return packet-hops, CPU seconds and its peak memory in GB."""
    command = [sys.executable, "-m", "benchmarks.packets", what]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    hops, seconds, peak_gb = json.loads(done.stdout)
    return hops, seconds, peak_gb


def main(what: str) -> None:
    """Measure one large case and print what :func:`in_a_process` reads."""
    compile_kernel()
    hops, seconds = run(*LARGE[what][0]())
    print(json.dumps([hops, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))


if __name__ == "__main__":
    main(sys.argv[1])
