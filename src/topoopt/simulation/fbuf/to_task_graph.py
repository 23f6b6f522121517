"""From a FlexNet file's tasks to our TaskGraph, task by task in the file's order.

A forward, backward or update task computes on its device. A communication task on a network device is a
transfer; its ``runtime`` is only FlexNet's estimate. An AllReduce waits ``runtime`` (the reduction inside each
server), then its members reduce ``xfersize`` bytes; nothing waits for it. A barrier takes its ``runtime`` and
nothing else. Whatever runs on any other device (a bus, a memory) occupies it for its ``runtime``.
"""

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.simulation.fbuf.graph import ALLREDUCE, BACKWARD, BARRIER, FORWARD, NW_COMM, FlexNetGraph
from topoopt.simulation.task_graph import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    PHASES,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)


def flexnet_task_graph(flexnet: FlexNetGraph) -> TaskGraph:
    """Return the tasks and what waits for what; task t of the result is the file's row t.

    ``duration_s`` is the file's float32 milliseconds, widened and divided by 1000, so that
    ``numpy.float32(duration_s * 1e3)`` gives back exactly what the file holds.

    Raises
    ------
    InvalidInput
        If a transfer does not join two servers, or tasks wait for each other in a circle.
    """
    tasks = flexnet.tasks
    device = _rows_of(flexnet.devices.deviceid, tasks.deviceid)
    on_network = (device >= 0) & (flexnet.devices.type[device] >= NW_COMM)
    free = (tasks.type == BARRIER) & ((device < 0) | on_network)  # takes time and no device
    kind = np.where(on_network | free, TRANSFER, COMPUTE)
    kind[tasks.type == ALLREDUCE] = COLLECTIVE
    computes, transfers = kind == COMPUTE, (kind == TRANSFER) & ~free
    src, dst = _ends(flexnet, device, transfers)
    src[free] = dst[free] = 0
    timed = computes | (kind == COLLECTIVE) | free
    rows = TaskRows(
        kind,
        len(tasks),
        np.where(timed, tasks.runtime.astype(np.float64) / 1e3, 0.0),
        server=np.where(computes, flexnet.devices.nodeid[device].astype(np.int64), -1),
        src=src,
        dst=dst,
        size_bytes=np.where(computes | free, 0, tasks.xfersize.astype(np.int64)),
        collective=np.where(kind == COLLECTIVE, COLLECTIVES.index("allreduce"), -1),
        members=_members(flexnet),
        phase=_phases(flexnet, transfers),
        accelerator=np.where(computes, _places(flexnet)[device], 0),
    )
    before, after = _edges(flexnet)
    try:
        return task_graph_from_edges(flexnet.nnode, [rows], before, after)
    except InvalidInput as error:
        raise InvalidInput(f"{flexnet.place}: {error}; export the task graph again") from None


def _rows_of(known: NDArray[np.uint64], numbers: NDArray[np.uint64]) -> Ints:
    """Return the row of each number in ``known``, -1 where it is not there."""
    if not len(known):
        return np.full(len(numbers), -1, np.int64)
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known[order], numbers), len(known) - 1)]
    return np.where(known[place] == numbers, place, -1)


def _edges(flexnet: FlexNetGraph) -> tuple[Ints, Ints]:
    """Return which task waits for which, as rows."""
    tasks = flexnet.tasks
    owner = np.repeat(np.arange(len(tasks)), np.diff(tasks.next_first))
    leads_on = tasks.type[owner] != ALLREDUCE
    return owner[leads_on], _rows_of(tasks.taskid, tasks.next[leads_on])


def _members(flexnet: FlexNetGraph) -> tuple[tuple[int, ...], ...]:
    tasks = flexnet.tasks
    rows = np.flatnonzero(tasks.type == ALLREDUCE)
    return tuple(
        tuple(tasks.next[tasks.next_first[row] : tasks.next_first[row + 1]].tolist()) for row in rows
    )


def _ends(flexnet: FlexNetGraph, device: Ints, transfers: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return src and dst of the transfers, -1 for other tasks."""
    src, dst = np.full(len(device), -1, np.int64), np.full(len(device), -1, np.int64)
    pair = flexnet.devices.deviceproperty[device[transfers]].astype(np.int64)
    src[transfers], dst[transfers] = np.divmod(pair, flexnet.nodes)
    outside = transfers & ((src >= flexnet.nnode) | (dst >= flexnet.nnode))
    if outside.any():
        task = int(np.argmax(outside))
        raise InvalidInput(
            f"{flexnet.place}: task {task}: transfers {src[task]}->{dst[task]}, expected two servers out of "
            f"0..{flexnet.nnode - 1}; export the graph with nominal (end to end) communication"
        )
    return src, dst


def _places(flexnet: FlexNetGraph) -> Ints:
    """Return the place of each device among the devices of its node that compute tasks of the file use."""
    devices = flexnet.devices
    used = (devices.type < NW_COMM) & np.isin(devices.deviceid, flexnet.tasks.deviceid)
    place = np.zeros(max(len(devices), 1), np.int64)
    rows = np.flatnonzero(used)
    # by node, and within a node by type and number of the device
    rows = rows[np.lexsort((devices.deviceproperty[rows], devices.type[rows], devices.nodeid[rows]))]
    node = devices.nodeid[rows]
    place[rows] = np.arange(len(rows)) - np.searchsorted(node, node)
    return place


def _phases(flexnet: FlexNetGraph, transfers: NDArray[np.bool_]) -> Ints:
    """Return what each task is for; a transfer carries what the task after it uses."""
    tasks = flexnet.tasks
    phase = np.full(len(tasks), PHASES.index("other"))
    for code, name in ((FORWARD, "forward"), (BACKWARD, "backward"), (ALLREDUCE, "allreduce")):
        phase[(tasks.type == code) & ~transfers] = PHASES.index(name)
    before, after = _edges(flexnet)
    for code, name in ((BACKWARD, "gradient"), (FORWARD, "activation")):
        feeds = before[tasks.type[after] == code]
        phase[feeds[transfers[feeds]]] = PHASES.index(name)
    return phase
