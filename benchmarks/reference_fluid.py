"""FlexNet's own fluid model: data-parallel jobs of the model zoo, in our flow simulator with one flow a ring."""

from functools import cache

from benchmarks.reference_rows import FluidRow
from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.jobs import JobSettings, make_job, operators_of
from topoopt.simulation import IterationCosts, SimulationOptions, TaskGraph, build_task_graph, simulate
from topoopt.workloads import data_parallel, load_model

INTRA_SERVER_BPS = 200e9
"""The 25e6 bytes/ms inside a server of the authors' programs."""
STRIDES = {(16, 4): (1, 5), (16, 8): (1, 3, 5, 7), (128, 4): (1, 13), (128, 8): (1, 5, 13, 39)}
"""Of the circulants, by servers and degree."""


@cache
def _data_parallel(model: str, servers: int) -> TaskGraph:
    cluster = ClusterSpec(servers, degree=4, link_bandwidth_bps=100e9)
    job = make_job(load_model(model, servers=servers), cluster, JobSettings(memory_check="off"))
    return build_task_graph(
        operators_of(job).graph,
        data_parallel(operators_of(job).graph, servers),
        operators_of(job).timer,
        IterationCosts(4, INTRA_SERVER_BPS),
    )


def fluid_ms(row: FluidRow) -> float:
    """Return what our flow simulator finds for a row, in milliseconds."""
    graph = _data_parallel(row.model, row.servers)
    strides = STRIDES[row.servers, row.degree] if row.fabric == "topoopt" else ()
    fabric = build_fabric(
        row.fabric,
        FabricRequest(
            row.servers,
            row.degree,
            row.gbps * 1e9,
            graph.groups,
            server_bandwidth_bps=row.degree * row.gbps * 1e9,
            shape=FabricShape(strides=strides),
        ),
    )
    return simulate("flow", graph, fabric, SimulationOptions(ring_model="bulk")).iteration_time_s * 1e3
