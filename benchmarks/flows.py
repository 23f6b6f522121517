"""The flow simulator on the authors' task graphs: one job of 16 or of 128 servers, and four jobs on one fat-tree."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import topoopt
from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import (
    SimulationOptions,
    TaskGraph,
    flexnet_fabric,
    flexnet_task_graph,
    place_jobs,
    placed_groups,
    read_fbuf,
    simulate,
    simulate_together,
)

GRAPHS = Path(__file__).parents[1] / "examples" / "taskgraphs"
BANDWIDTH_BPS = 100e9
ORIGINAL = "FlexNetPacket: packets; its fastest run at 16 servers, the same graph and fabric at 128"
JOBS = ("100vgg_16", "100dlrm_16", "100candle_16", "100dlrm_16")
TREE_SERVERS, TREE_ARITY = 432, 12
PLANNED: dict[str, dict[str, Any]] = {"dlrm": {"budget": 2}, "bert": {"budget": 2}, "mixtral-8x7b": {}}
PLANS_S = {16: 0.1, 64: 1.0, 256: 5.0, 1_024: 40.0}
"""Servers of a plan, and CPU seconds that its default simulation may take."""


def graph(name: str) -> TaskGraph:
    return flexnet_task_graph(read_fbuf(GRAPHS / f"{name}.fbuf.xz"))


def own_fabric(name: str) -> Fabric:
    """The connections, routes and rings of the file."""
    file = read_fbuf(GRAPHS / f"{name}.fbuf.xz")
    return flexnet_fabric(file, flexnet_task_graph(file).groups, bandwidth_bps=BANDWIDTH_BPS)


def switch(job: TaskGraph) -> Fabric:
    return build_fabric("ideal-switch", FabricRequest(job.servers, 1, BANDWIDTH_BPS, job.groups))


def figures() -> Iterator[Figure]:
    for name, where, limit, original in (
        ("100vgg_16", "ideal switch", 0.1, 0.2),
        ("100candle_16", "ideal switch", 0.1, 0.2),
        ("200dlrm_16_circ_d4_rings", "direct", 0.1, 0.2),
        ("25dlrm_128", "ideal switch", 1.0, 27.0),
        ("25dlrm_128_circ_d4_rings", "direct", 1.0, 50.0),
    ):
        job = graph(name)
        fabric = own_fabric(name) if where == "direct" else switch(job)
        simulate("flow", job, fabric)  # compile the kernels
        seconds = best_cpu_seconds(lambda: simulate("flow", job, fabric))  # noqa: B023
        yield Figure(f"flow, {name}, {where}", seconds, "CPU s", limit, False, original, ORIGINAL)
    yield from four_jobs()
    yield from growth()


def growth() -> Iterator[Figure]:
    """Default simulations of plans, and the exponents of their growth with the flows."""
    for model, search in PLANNED.items():
        seconds, flows = [], []
        for servers, limit in PLANS_S.items():
            plan = topoopt.plan(model, servers=servers, fabrics=(), **search)
            answer = plan.simulate()
            seconds.append(answer.cpu_s)
            flows.append(answer.to_json()["flows"])
            what = f"simulate, plan of {model} on {servers} servers, {flows[-1]} flows"
            yield Figure(what, seconds[-1], "CPU s", limit)
        exponent = math.log(seconds[-1] / seconds[0]) / math.log(max(flows[-1] / flows[0], 2.0))
        yield Figure(f"exponent of that with the flows, plans of {model}", exponent, "", 1.2)


def four_jobs() -> Iterator[Figure]:
    """Four jobs of 16 servers, strewn over a fat-tree of real switches, until each has done an iteration."""
    jobs = [graph(name) for name in JOBS]
    placement = place_jobs([job.servers for job in jobs], TREE_SERVERS, "random", seed=1)
    fabric = build_fabric(
        "fat-tree",
        FabricRequest(
            TREE_SERVERS,
            1,
            BANDWIDTH_BPS,
            placed_groups(jobs, placement),
            server_bandwidth_bps=BANDWIDTH_BPS,
            shape=FabricShape(switches=True, arity=TREE_ARITY),
        ),
    )
    for split in ("one", "spread"):
        options = SimulationOptions(split=split)
        seconds = best_cpu_seconds(lambda: simulate_together("flow", jobs, fabric, placement, options))  # noqa: B023
        yield Figure(
            f"flow, four jobs, fat-tree of 432, {split}", seconds, "CPU s", 3.0, False, 47.0, ORIGINAL
        )
