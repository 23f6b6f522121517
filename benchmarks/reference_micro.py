"""Small cases to the picosecond: each a compute task of 1 ms, then transfers or one AllReduce at 100 Gb/s."""

from collections.abc import Callable, Mapping

import numpy as np

from topoopt.routing import Fabric, make_routes
from topoopt.simulation import COLLECTIVE, COMPUTE, TRANSFER, TaskGraph, TaskRows, task_graph_from_edges
from topoopt.topologies import (
    Link,
    Ring,
    Topology,
    circulant,
    fat_tree,
    ideal_switch,
    stride_offsets,
    topology_from_links,
)

BPS = 100e9
TEN_MB = 10_000_000
GIBIBYTE = 2**30
SERVERS = 16
Case = tuple[TaskGraph, Fabric]


def _fabric(topology: Topology, routing: str = "single-shortest", rings: tuple[Ring, ...] = ()) -> Fabric:
    everyone = tuple(range(topology.servers))
    return Fabric("micro", topology, make_routes(routing, topology), {everyone: rings} if rings else {})


def _line(nodes: int) -> Topology:
    pairs = [(i, i + 1) for i in range(nodes - 1)]
    links = [Link(a, b, BPS) for i, j in pairs for a, b in ((i, j), (j, i))]
    return topology_from_links("line", nodes, links)


def _after_a_millisecond(servers: int, rows: TaskRows) -> TaskGraph:
    compute = TaskRows(COMPUTE, 1, 1e-3, server=0)
    each = np.arange(rows.count)
    return task_graph_from_edges(servers, [compute, rows], np.zeros_like(each), 1 + each)


def _flows(count: int, hops: int = 1) -> Case:
    rows = TaskRows(TRANSFER, count, src=0, dst=hops, size_bytes=TEN_MB)
    return _after_a_millisecond(hops + 1, rows), _fabric(_line(hops + 1))


def _incast(senders: int) -> Case:
    rows = TaskRows(TRANSFER, senders, src=1 + np.arange(senders), dst=0, size_bytes=TEN_MB)
    return _after_a_millisecond(senders + 1, rows), _fabric(ideal_switch(senders + 1, BPS))


def _allreduce(on: Fabric) -> Case:
    members = (tuple(range(SERVERS)),)
    rows = TaskRows(COLLECTIVE, 1, size_bytes=GIBIBYTE, collective=0, members=members)
    return _after_a_millisecond(SERVERS, rows), on


def _rings(*strides: int) -> Fabric:
    offsets = stride_offsets(SERVERS, strides, "duplex")
    orders = [tuple(offset * i % SERVERS for i in range(SERVERS)) for offset in offsets]
    rings = [Ring(offset, order, order) for offset, order in zip(offsets, orders, strict=True)]
    wanted = rings[:1] if strides == (1,) else rings
    return _fabric(circulant(SERVERS, strides, BPS), rings=tuple(wanted))


CASES: Mapping[str, Callable[[], Case]] = {
    "10 MB over 1 hop": lambda: _flows(1, 1),
    "10 MB over 4 hops": lambda: _flows(1, 4),
    "2 flows of 10 MB on one link": lambda: _flows(2),
    "4 flows of 10 MB on one link": lambda: _flows(4),
    "16 flows of 10 MB on one link": lambda: _flows(16),
    "incast of 8 × 10 MB through a switch": lambda: _incast(8),
    "AllReduce of 1 GiB over 16, one ring": lambda: _allreduce(_rings(1)),
    "AllReduce of 1 GiB over 16, ideal switch": lambda: _allreduce(_fabric(ideal_switch(SERVERS, BPS))),
    "AllReduce of 1 GiB over 16, fat-tree": lambda: _allreduce(
        _fabric(fat_tree(SERVERS, BPS, switches=True), "ecmp")
    ),
    "AllReduce of 1 GiB over 16, 4 rings": lambda: _allreduce(_rings(1, 5)),
}
"""Cases by the names that ``data/flexnetpacket_micro.csv`` has for them."""
