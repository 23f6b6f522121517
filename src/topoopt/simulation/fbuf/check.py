"""Whether the parts of a FlexNetGraph fit together: every number that is named exists."""

import numpy as np
from numpy.typing import NDArray

from topoopt.base.errors import InvalidInput
from topoopt.simulation.csr import owners
from topoopt.simulation.fbuf.graph import ALLREDUCE, BARRIER, DEVICE_TYPES, NW_COMM, TASK_TYPES, FlexNetGraph

MOST_NODES = 1 << 20
"""More nodes are taken for damage: what a simulation allocates grows with them."""

MOST_BYTES = 1 << 53
"""Sizes up to here are exact as floating-point numbers."""


def check(graph: FlexNetGraph) -> None:
    """Refuse a graph that names what it does not hold.

    Raises
    ------
    InvalidInput
        With the file, the row, and what is allowed.
    """
    if not 1 <= graph.nnode <= graph.nodes <= MOST_NODES:
        raise InvalidInput(
            f"{graph.place}: nnode {graph.nnode}, nswitch {graph.nswitch}: expected at least 1 server and at "
            f"most {MOST_NODES} nodes; the file is damaged or no FlexNet task graph"
        )
    if not len(graph.tasks):
        raise InvalidInput(f"{graph.place}: holds no tasks; export the task graph again")
    _check_connections(graph)
    _check_devices(graph)
    _check_tasks(graph)
    _check_routes(graph)
    _check_rings(graph)


def refuse(
    graph: FlexNetGraph,
    what: str,
    bad: NDArray[np.bool_],
    value: object,
    allowed: str,
    owner: NDArray[np.int64] | None = None,
) -> None:
    """Raise if any row is bad; ``value`` is a column, or text that is said of every row.

    Where rows are entries of lists, ``owner`` has the number of each one's list, which is the one that is named.
    """
    if not bad.any():
        return
    row = int(np.argmax(bad))
    shown = value[row] if isinstance(value, np.ndarray) else value
    number = row if owner is None else owner[row]
    raise InvalidInput(f"{graph.place}: {what} {number}: {allowed}, got {shown}; export the task graph again")


def _check_connections(graph: FlexNetGraph) -> None:
    rows = graph.connections
    for name in ("fromnode", "tonode"):
        node = getattr(rows, name)
        refuse(graph, "connection", node >= graph.nodes, node, f"{name} must be in 0..{graph.nodes - 1}")
    refuse(graph, "connection", rows.fromnode == rows.tonode, rows.tonode, "must join two different nodes")
    refuse(graph, "connection", rows.nconn == 0, rows.nconn, "nconn must be at least 1")


def _check_devices(graph: FlexNetGraph) -> None:
    rows, network = graph.devices, graph.devices.type >= NW_COMM
    wrong = (rows.type < 0) | (rows.type >= len(DEVICE_TYPES))
    refuse(graph, "device", wrong, rows.type, f"type must be in 0..{len(DEVICE_TYPES) - 1}")
    refuse(graph, "device", _repeated(rows.deviceid), rows.deviceid, "deviceid must be there once")
    inside = f"nodeid must be in 0..{graph.nnode - 1}"
    refuse(graph, "device", ~network & (rows.nodeid >= graph.nnode), rows.nodeid, inside)
    ends = f"deviceproperty must be src·{graph.nodes} + dst with both in 0..{graph.nodes - 1}"
    refuse(graph, "device", network & (rows.deviceproperty >= graph.nodes**2), rows.deviceproperty, ends)


def _check_tasks(graph: FlexNetGraph) -> None:
    rows = graph.tasks
    wrong = (rows.type < 0) | (rows.type >= len(TASK_TYPES))
    refuse(graph, "task", wrong, rows.type, f"type must be in 0..{len(TASK_TYPES) - 1}")
    refuse(graph, "task", _repeated(rows.taskid), rows.taskid, "taskid must be there once")
    needs_device = (rows.type != ALLREDUCE) & (rows.type != BARRIER)
    missing = needs_device & ~np.isin(rows.deviceid, graph.devices.deviceid)
    refuse(graph, "task", missing, rows.deviceid, "deviceid must be that of a device in the file")
    time = "runtime (ms) must be finite and >= 0"
    refuse(graph, "task", ~(np.isfinite(rows.runtime) & (rows.runtime >= 0)), rows.runtime, time)
    refuse(graph, "task", rows.xfersize > MOST_BYTES, rows.xfersize, f"xfersize must be <= {MOST_BYTES}")
    owner = owners(rows.next_first)
    member = rows.type[owner] == ALLREDUCE
    lost = ~member & ~np.isin(rows.next, rows.taskid)
    refuse(graph, "task", lost, rows.next, "nexttasks must be numbers of tasks in the file", owner)
    nodes = f"an AllReduce's members must be node numbers in 0..{graph.nnode - 1}"
    refuse(graph, "task", member & (rows.next >= graph.nnode), rows.next, nodes, owner)
    twice = np.zeros(len(owner), bool)
    twice[member] = _repeated(owner[member] * graph.nnode + rows.next[member].astype(np.int64))
    refuse(graph, "task", twice, rows.next, "an AllReduce's members must differ", owner)
    empty = (rows.type == ALLREDUCE) & (np.diff(rows.next_first) == 0)
    refuse(graph, "task", empty, "none", "an AllReduce must have members (its nexttasks)")


def _check_routes(graph: FlexNetGraph) -> None:
    rows = graph.routes
    for name in ("fromnode", "tonode"):
        node = getattr(rows, name)
        refuse(graph, "route", node >= graph.nodes, node, f"{name} must be in 0..{graph.nodes - 1}")
    pair = rows.fromnode.astype(np.int64) * graph.nodes + rows.tonode
    refuse(graph, "route", _repeated(pair), "a second one", "a pair must have one route (of any paths)")
    chance = rows.chance
    refuse(graph, "path", ~(np.isfinite(chance) & (chance > 0)), chance, "chance must be > 0 and finite")
    hops = np.diff(rows.hop_first)
    refuse(graph, "path", hops < 2, hops, "hopnode must hold both ends")
    refuse(graph, "hopnode", rows.hopnode >= graph.nodes, rows.hopnode, f"must be in 0..{graph.nodes - 1}")
    route = owners(rows.path_first)
    for name, entry in (("fromnode", rows.hop_first[:-1]), ("tonode", rows.hop_first[1:] - 1)):
        end = rows.hopnode[entry]
        refuse(graph, "path", end != getattr(rows, name)[route], end, f"must have the route's {name} as end")
    path = owners(rows.hop_first)
    twice = _repeated(path * graph.nodes + rows.hopnode)
    refuse(
        graph, "path", np.bincount(path[twice], minlength=len(hops)) > 0, "twice", "a node must be met once"
    )
    _check_steps(graph, path)


def _check_steps(graph: FlexNetGraph, path: NDArray[np.int64]) -> None:
    """Refuse routes that step where no cable is."""
    node = graph.routes.hopnode.astype(np.int64)
    inner = path[:-1] == path[1:]
    src, dst = node[:-1][inner], node[1:][inner]
    a, b = graph.connections.fromnode.astype(np.int64), graph.connections.tonode.astype(np.int64)
    cables = np.concatenate([a * graph.nodes + b, b * graph.nodes + a])
    missing = ~np.isin(src * graph.nodes + dst, cables)
    if missing.any():
        step = int(np.argmax(missing))
        raise InvalidInput(
            f"{graph.place}: path {path[:-1][inner][step]}: steps {src[step]}->{dst[step]}, where the file has "
            "no connection; add it or route around it"
        )


def _check_rings(graph: FlexNetGraph) -> None:
    for row, ring in enumerate(graph.rings):
        for jumps in ring.ringpaths:
            if not 0 < len(jumps) <= graph.nnode or any(jump % graph.nnode == 0 for jump in jumps):
                shown = str(jumps) if len(jumps) < 10 else f"{len(jumps)} jumps"
                raise InvalidInput(
                    f"{graph.place}: ring {row}: expected 1 to {graph.nnode} jumps to other nodes, got {shown}; "
                    "export the task graph again"
                )


def _repeated(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return which values stood earlier in the list already."""
    again = np.ones(len(values), bool)
    again[np.unique(values, return_index=True)[1]] = False
    return again
