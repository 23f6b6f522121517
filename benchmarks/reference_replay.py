"""Replaying the authors' task graphs: the file, the fabric to put it on, and one run of a simulator."""

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from benchmarks.reference_rows import ReplayRow
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import (
    PacketOptions,
    SimResult,
    SimulationOptions,
    TaskGraph,
    flexnet_fabric,
    flexnet_task_graph,
    read_fbuf,
    simulate,
)

GRAPHS = Path(__file__).parents[1] / "examples" / "taskgraphs"
COMPATIBLE = PacketOptions(compat="flexnetpacket")
DRAWS = 3
"""Seeds over which a time is averaged where connections draw their paths."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What one simulator finds for a row: the mean over its seeds, and what the first of them took."""

    times_ms: tuple[float, ...]
    packet_hops: int
    cpu_s: float

    @property
    def time_ms(self) -> float:
        return fmean(self.times_ms)


@cache
def task_graph(graph: str) -> TaskGraph:
    """Return the tasks of a shipped file."""
    return flexnet_task_graph(read_fbuf(GRAPHS / f"{graph}.fbuf.xz"))


@cache
def fabric(graph: str, name: str, gbps: float) -> Fabric:
    """Return the file's own fabric, or a named one of one link a server, switch by switch."""
    tasks = task_graph(graph)
    if name == "own":
        return flexnet_fabric(read_fbuf(GRAPHS / f"{graph}.fbuf.xz"), tasks.groups, bandwidth_bps=gbps * 1e9)
    return build_fabric(
        name,
        FabricRequest(
            tasks.servers,
            1,
            gbps * 1e9,
            tasks.groups,
            server_bandwidth_bps=gbps * 1e9,
            shape=FabricShape(switches=True),
        ),
    )


def run_row(row: ReplayRow, simulator: str, options: SimulationOptions) -> SimResult:
    """Run one simulator on a row's graph and fabric."""
    return simulate(simulator, task_graph(row.graph), fabric(row.graph, row.fabric, row.gbps), options)


def replay_packets(row: ReplayRow, packet: PacketOptions = COMPATIBLE) -> Replayed:
    """Replay packet by packet, with as many seeds as the row needs."""
    fabric(row.graph, row.fabric, row.gbps)  # reading files is not part of the time
    times, hops, seconds = [], [], []
    for seed in _seeds(row):
        began = time.process_time()
        result = run_row(row, "packet", SimulationOptions(seed=seed, packet=packet))
        seconds.append(time.process_time() - began)
        assert result.packet is not None
        times.append(result.iteration_time_s * 1e3)
        hops.append(result.packet.packet_hops)
    return Replayed(tuple(times), hops[0], seconds[0])


def replay_flows(row: ReplayRow, packet: PacketOptions = COMPATIBLE) -> Replayed:
    """Replay with max-min fair flows: rings in the original's rounds, one path for a transfer as packets have it."""
    fabric(row.graph, row.fabric, row.gbps)
    times, seconds = [], []
    for seed in _seeds(row):
        began = time.process_time()
        result = run_row(row, "flow", SimulationOptions(split="one", seed=seed, packet=packet))
        seconds.append(time.process_time() - began)
        times.append(result.iteration_time_s * 1e3)
    return Replayed(tuple(times), 0, seconds[0])


def _seeds(row: ReplayRow) -> range:
    return range(DRAWS if row.draws_paths else 1)
