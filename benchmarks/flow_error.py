"""How far ``--simulator auto`` is from packets on the authors' task graphs: ``python -m benchmarks.flow_error``.

Prints every run, then for each kind of traffic the figures that ``simulation/simulators.py`` holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import (
    FlexNetGraph,
    TaskGraph,
    choose_and_simulate,
    flexnet_fabric,
    flexnet_task_graph,
    read_fbuf,
    simulate,
)

GRAPHS = Path(__file__).parents[1] / "examples" / "taskgraphs"
REHOMED = ("ideal-switch", "fat-tree", "topoopt", "expander", "torus")
"""Fabrics for the graphs that come with a switch; the others keep their own circulant. A server has the bandwidth of
the file's one cable on every one: over 1 interface on switches, over 4 elsewhere."""
STRIDES = (1, 5)


@dataclass(frozen=True, slots=True)
class Row:
    graph: str
    fabric: str
    simulator: str
    traffic: str
    time_s: float
    packet_time_s: float

    @property
    def error(self) -> float:
        return self.time_s / self.packet_time_s - 1


def rows() -> Iterator[Row]:
    for path in sorted(GRAPHS.glob("*.fbuf.xz")):
        flexnet = read_fbuf(path)
        graph = flexnet_task_graph(flexnet)
        for name in REHOMED if flexnet.nswitch else ("topoopt",):
            fabric = _fabric(name, flexnet, graph)
            choice = choose_and_simulate(graph, fabric)
            yield Row(
                path.name.removesuffix(".fbuf.xz"),
                name,
                choice.result.simulator,
                choice.expected_error.traffic,
                choice.result.iteration_time_s,
                simulate("packet", graph, fabric).iteration_time_s,
            )


def _fabric(name: str, flexnet: FlexNetGraph, graph: TaskGraph) -> Fabric:
    if not flexnet.nswitch:
        return flexnet_fabric(flexnet, graph.groups)
    degree = 1 if name in ("ideal-switch", "fat-tree") else 4
    return build_fabric(
        name,
        FabricRequest(
            graph.servers,
            degree,
            flexnet.bandwidth_bps / degree,
            graph.groups,
            server_bandwidth_bps=flexnet.bandwidth_bps,
            shape=FabricShape(switches=True, strides=STRIDES if name == "topoopt" else ()),
        ),
    )


def main() -> None:
    found = []
    for row in rows():
        found.append(row)
        print(
            f"{row.graph:28} {row.fabric:14} {row.simulator:9} {row.time_s * 1e3:10.3f} ms, "
            f"packets {row.packet_time_s * 1e3:10.3f} ms {row.error:+8.2%}",
            flush=True,
        )
    for traffic in sorted({row.traffic for row in found}):
        errors = np.abs([row.error for row in found if row.traffic == traffic])
        print(
            f"{traffic}: median {np.median(errors):.4f}, 9 of 10 {np.percentile(errors, 90):.4f}, "
            f"largest {errors.max():.4f}, {len(errors)} runs"
        )


if __name__ == "__main__":
    main()
