"""FlexNetGraph: every field of a FlexNet ``.fbuf`` task graph, by columns.

The format is the one that the authors' simulators FlexNet (which writes it) and FlexNetPacket (which plays
it) share: FlatBuffers, root table ``TaskGraph``, no file identifier. Columns keep the file's names, units and
number types, so that reading and writing lose nothing; bandwidths are bytes per *millisecond*, times ms.

The tables of a FlexNet ``.fbuf`` file are listed field by field in the order of slots, for reading and writing.

A field is a number (NumPy's name of its type), a text, a list of numbers ``[u8]``, or a table: then a list of
such. In columns a list has its CSR pointer before its entries, as in the dataclasses of ``graph.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Columns, Ints, owners
from topoopt.base.errors import InvalidInput

TEXT = "text"
Table: TypeAlias = Mapping[str, Union[str, "Table"]]
NUMBERS: Mapping[str, str] = {
    "ngpupernode": "u4",
    "nnode": "u4",
    "nswitch": "u4",
    "intergpubw": "f4",
    "drambw": "f4",
    "netbw": "f4",
}
"""Leading fields of the root table."""
LISTS: Mapping[str, Table] = {
    "connections": {"fromnode": "u4", "tonode": "u4", "nconn": "u4"},
    "operators": {"opid": "u8", "type": "i4", "name": TEXT},
    "tasks": {
        "type": "i2",
        "taskid": "u8",
        "deviceid": "u8",
        "runtime": "f4",
        "xfersize": "u8",
        "nexttasks": "[u8]",
    },
    "devices": {"type": "i2", "deviceid": "u8", "nodeid": "u8", "deviceproperty": "u8", "bandwidth": "u8"},
    "routes": {"fromnode": "u4", "tonode": "u4", "paths": {"hopnodes": "[u4]", "chance": "f4"}},
    "rings": {"ringsz": "u8", "ringpaths": {"jumps": "[i4]"}},
}
"""Lists of tables that follow."""
TASK_TYPES = ("forward", "backward", "comm", "update", "barrier", "nominal-comm", "allreduce")
"""SimTaskType; the file stores the index."""
FORWARD, BACKWARD, COMM, UPDATE, BARRIER, NOMINAL_COMM, ALLREDUCE = range(len(TASK_TYPES))
DEVICE_TYPES = (
    *("comp-gpu", "comp-cpu", "mem-system", "mem-z-copy", "mem-gpu-fb", "comm-membus", "upi-in"),
    *("upi-out", "nic-in", "nic-out", "pci-to-host", "pci-to-dev", "nvlink", "nw-comm", "nw-nominal"),
)
"""DeviceType; the file stores the index."""
COMP_GPU = DEVICE_TYPES.index("comp-gpu")
NW_COMM = DEVICE_TYPES.index("nw-comm")
NW_NOMINAL = DEVICE_TYPES.index("nw-nominal")
NO_NODE = 2**64 - 1
"""``nodeid`` of devices outside nodes: the network devices."""
Bytes8 = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Connections(Columns):
    """Cables: ``nconn`` duplex ones between two nodes."""

    fromnode: NDArray[np.uint32]
    tonode: NDArray[np.uint32]
    nconn: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Operators(Columns):
    """The model's operators; nothing in the file says which task belongs to which."""

    opid: Bytes8
    type: NDArray[np.int32]
    name: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Tasks(Columns):
    """Tasks; numbers of tasks and devices are any distinct 64-bit numbers.

    Attributes
    ----------
    type : int16 array
        Index into :data:`TASK_TYPES`.
    runtime : float32 array, ms
        Time of a compute task; for an AllReduce, the delay before it (the reduction inside each server); for a
        transfer, FlexNet's estimate, which no simulation uses.
    xfersize : uint64 array
        Bytes of a transfer; of an AllReduce the size of the tensor.
    next_first, next : int64 and uint64 arrays
        Row t's ``nexttasks`` are ``next[next_first[t] : next_first[t+1]]``: the tasks that wait for it; of an
        AllReduce, for which nothing waits, the node numbers of its members in ring order.
    """

    type: NDArray[np.int16]
    taskid: Bytes8
    deviceid: Bytes8
    runtime: NDArray[np.float32]
    xfersize: Bytes8
    next_first: Ints
    next: Bytes8


@dataclass(frozen=True, eq=False)
class Devices(Columns):
    """Devices; a task runs on one.

    Attributes
    ----------
    type : int16 array
        Index into :data:`DEVICE_TYPES`.
    nodeid : uint64 array
        Node of the device, :data:`NO_NODE` for a network device.
    deviceproperty : uint64 array
        GPU number; src·(nnode + nswitch) + dst of a network device.
    """

    type: NDArray[np.int16]
    deviceid: Bytes8
    nodeid: Bytes8
    deviceproperty: Bytes8
    bandwidth: Bytes8


@dataclass(frozen=True, eq=False)
class RouteRows(Columns):
    """Routes: the paths of each pair, and each path's nodes with both ends and its probability.

    Route r has the paths ``path_first[r] : path_first[r+1]``, path p the nodes
    ``hopnode[hop_first[p] : hop_first[p+1]]``.
    """

    fromnode: NDArray[np.uint32]
    tonode: NDArray[np.uint32]
    path_first: Ints
    hop_first: Ints
    hopnode: NDArray[np.uint32]
    chance: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RingDescriptor:
    """Rings of a group of ``ringsz`` members.

    Each ring is a list of jumps: the physical steps, modulo ``nnode``, from a member to the next one.
    """

    ringsz: int
    ringpaths: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class FlexNetGraph:
    """A task graph with the network that it was made for.

    Nodes 0 .. nnode-1 are servers, the ``nswitch`` numbers after them switches. A file without connections,
    routes or rings has empty columns there.

    Attributes
    ----------
    place : str
        Prefix of error messages about this graph: the name of the file.
    intergpubw, drambw, netbw : float, bytes/ms
        Bandwidth between the GPUs of a server, to memory, and of one network cable.
    """

    place: str
    ngpupernode: int
    nnode: int
    nswitch: int
    intergpubw: float
    drambw: float
    netbw: float
    connections: Connections
    operators: Operators
    tasks: Tasks
    devices: Devices
    routes: RouteRows
    rings: tuple[RingDescriptor, ...]

    @property
    def nodes(self) -> int:
        """Servers and switches."""
        return self.nnode + self.nswitch

    @property
    def bandwidth_bps(self) -> float:
        """Bandwidth of one network cable per direction."""
        return self.netbw * 8e3


MOST_NODES = 1 << 20
"""Upper limit on nodes; a file with more counts as damaged, since a simulation's memory grows with them."""
MOST_BYTES = 1 << 53
"""Sizes up to here are exact as floating-point numbers."""


def check(graph: FlexNetGraph) -> None:
    """Refuse a graph with references to missing items.

    Raises
    ------
    InvalidInput
        With the file, the row, and the allowed values.
    """
    if not 1 <= graph.nnode <= graph.nodes <= MOST_NODES:
        raise InvalidInput(
            f"{graph.place}: nnode {graph.nnode}, nswitch {graph.nswitch}: expected at least 1 server and at "
            f"most {MOST_NODES} nodes; the file is damaged or no FlexNet task graph"
        )
    if not len(graph.tasks):
        raise InvalidInput(f"{graph.place}: holds no tasks; export the task graph again")
    rows = graph.connections
    for name in ("fromnode", "tonode"):
        node = getattr(rows, name)
        refuse(graph, "connection", node >= graph.nodes, node, f"{name} must be in 0..{graph.nodes - 1}")
    refuse(graph, "connection", rows.fromnode == rows.tonode, rows.tonode, "must join two different nodes")
    refuse(graph, "connection", rows.nconn == 0, rows.nconn, "nconn must be at least 1")
    _check_devices(graph)
    _check_tasks(graph)
    _check_routes(graph)
    for row, ring in enumerate(graph.rings):
        for jumps in ring.ringpaths:
            if not 0 < len(jumps) <= graph.nnode or any(jump % graph.nnode == 0 for jump in jumps):
                shown = str(jumps) if len(jumps) < 10 else f"{len(jumps)} jumps"
                raise InvalidInput(
                    f"{graph.place}: ring {row}: expected 1 to {graph.nnode} jumps to other nodes, got {shown}; "
                    "export the task graph again"
                )


def refuse(
    graph: FlexNetGraph,
    what: str,
    bad: NDArray[np.bool_],
    value: object,
    allowed: str,
    owner: NDArray[np.int64] | None = None,
) -> None:
    """Raise if any row is bad; ``value`` is a column, or one text for all rows.

    Where rows are entries of lists, ``owner`` has the number of each one's list, which is the one that is named.
    """
    if not bad.any():
        return
    row = int(np.argmax(bad))
    shown = value[row] if isinstance(value, np.ndarray) else value
    number = row if owner is None else owner[row]
    raise InvalidInput(f"{graph.place}: {what} {number}: {allowed}, got {shown}; export the task graph again")


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


def _repeated(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    again = np.ones(len(values), bool)
    again[np.unique(values, return_index=True)[1]] = False
    return again
