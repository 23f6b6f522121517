"""The noun FlexNetGraph: every field of a FlexNet ``.fbuf`` task graph, by columns.

The format is the one that the authors' simulators FlexNet (which writes it) and FlexNetPacket (which plays
it) share: FlatBuffers, root table ``TaskGraph``, no file identifier. Columns keep the file's names, units and
number types, so that reading and writing lose nothing; bandwidths are bytes per *millisecond*, times ms.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints

TASK_TYPES = ("forward", "backward", "comm", "update", "barrier", "nominal-comm", "allreduce")
"""SimTaskType; the file stores the index."""
FORWARD, BACKWARD, COMM, UPDATE, BARRIER, NOMINAL_COMM, ALLREDUCE = range(len(TASK_TYPES))

DEVICE_TYPES = (
    "comp-gpu",
    "comp-cpu",
    "mem-system",
    "mem-z-copy",
    "mem-gpu-fb",
    "comm-membus",
    "upi-in",
    "upi-out",
    "nic-in",
    "nic-out",
    "pci-to-host",
    "pci-to-dev",
    "nvlink",
    "nw-comm",
    "nw-nominal",
)
"""DeviceType; the file stores the index."""
COMP_GPU = DEVICE_TYPES.index("comp-gpu")
NW_COMM = DEVICE_TYPES.index("nw-comm")
NW_NOMINAL = DEVICE_TYPES.index("nw-nominal")

NO_NODE = 2**64 - 1
"""``nodeid`` of a device that stands in no node: the network devices."""

Bytes8 = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Connections:
    """Cables: ``nconn`` duplex ones between two nodes."""

    fromnode: NDArray[np.uint32]
    tonode: NDArray[np.uint32]
    nconn: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.fromnode)


@dataclass(frozen=True, eq=False)
class Operators:
    """The model's operators; nothing in the file says which task belongs to which."""

    opid: Bytes8
    type: NDArray[np.int32]
    name: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.opid)


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks; numbers of tasks and devices are any distinct 64-bit numbers.

    Attributes
    ----------
    type : int16 array
        Index into :data:`TASK_TYPES`.
    runtime : float32 array, ms
        Of a compute task its time, of an AllReduce the delay before it (the reduction inside each server), of
        a transfer FlexNet's estimate, which no simulation uses.
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

    def __len__(self) -> int:
        return len(self.type)


@dataclass(frozen=True, eq=False)
class Devices:
    """Devices; a task runs on one.

    Attributes
    ----------
    type : int16 array
        Index into :data:`DEVICE_TYPES`.
    nodeid : uint64 array
        Where it stands, :data:`NO_NODE` for a network device.
    deviceproperty : uint64 array
        GPU number; src·(nnode + nswitch) + dst of a network device.
    """

    type: NDArray[np.int16]
    deviceid: Bytes8
    nodeid: Bytes8
    deviceproperty: Bytes8
    bandwidth: Bytes8

    def __len__(self) -> int:
        return len(self.type)


@dataclass(frozen=True, eq=False)
class RouteRows:
    """Routes: of each pair the paths, of each path its nodes with both ends and its chance.

    Route r has the paths ``path_first[r] : path_first[r+1]``, path p the nodes
    ``hopnode[hop_first[p] : hop_first[p+1]]``.
    """

    fromnode: NDArray[np.uint32]
    tonode: NDArray[np.uint32]
    path_first: Ints
    hop_first: Ints
    hopnode: NDArray[np.uint32]
    chance: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.fromnode)


@dataclass(frozen=True, slots=True)
class RingDescriptor:
    """How a group of ``ringsz`` members walks its rings.

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
        What stands in front of an error message about this graph: the name of the file.
    intergpubw, drambw, netbw : float, bytes/ms
        Between the GPUs of a server, to memory, of one network cable.
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
        """Bandwidth of one network cable, each way."""
        return self.netbw * 8e3
