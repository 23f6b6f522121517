"""Conversion of a TaskGraph and Fabric to a FlexNet task graph, so that FlexNetPacket can replay a plan, and back.

Tasks that take no time here (an empty transfer, one from a server to itself) would take some there: they are
omitted, and their successors wait for their predecessors. Features that the format lacks raise an error and are
never dropped silently: an AllReduce with successors, other ring collectives, delayed transfers, one-way links,
cables with bandwidths that are no whole multiples of one.

From a FlexNet file's tasks to our TaskGraph, task by task in the file's order.

A forward, backward or update task computes on its device. A communication task on a network device is a
transfer; its ``runtime`` is only FlexNet's estimate. An AllReduce waits ``runtime`` (the reduction inside each
server), then its members reduce ``xfersize`` bytes; nothing waits for it. A barrier takes its ``runtime`` and
nothing else. Whatever runs on any other device (a bus, a memory) occupies it for its ``runtime``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Columns, Ints
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation.flexnet.fabric import RingPlan, cables, ring_plan, routes_of
from topoopt.simulation.flexnet.graph import (
    ALLREDUCE,
    BACKWARD,
    BARRIER,
    COMP_GPU,
    FORWARD,
    NO_NODE,
    NOMINAL_COMM,
    NW_COMM,
    NW_NOMINAL,
    Devices,
    FlexNetGraph,
    Operators,
    Tasks,
    check,
)
from topoopt.simulation.flows.flows import pair_demands
from topoopt.simulation.task_graph import (
    ALL_TO_ALL,
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    PHASES,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)

_ALLREDUCE = COLLECTIVES.index("allreduce")
_MOST_DEPENDENCIES = 1 << 26
INTRA_GPU_BYTES_PER_MS = 20971520.0
"""``intergpubw`` and (below) ``drambw`` of all graphs of the authors; FlexNetPacket uses neither."""
MEMORY_BYTES_PER_MS = 33554432.0


@dataclass(frozen=True, eq=False)
class _Rows(Columns):
    """Tasks to be written, by task of ours that each comes from.

    ``src`` and ``dst`` are -1 except for transfers; ``members`` has the ordered members of each AllReduce row.
    """

    origin: Ints
    type: NDArray[np.int16]
    src: Ints
    dst: Ints
    size_bytes: Ints
    members: tuple[tuple[int, ...], ...]


def flexnet_graph(
    graph: TaskGraph, fabric: Fabric, name: str = "task graph", drop_rings: bool = False
) -> FlexNetGraph:
    """Return one iteration on a fabric in FlexNet's terms.

    Compute times become float32 milliseconds, which moves them by up to 6e-8 of themselves. Latencies have no
    place in the format. A transfer's ``runtime`` is its bytes over the bandwidth of one cable.

    Parameters
    ----------
    name : str
        Prefix of error messages about the result.
    drop_rings : bool
        Write groups whose rings the format cannot hold (see :class:`RingPlan`) without rings: they then take
        one ring in member order along the routes. Otherwise they are an error.

    Raises
    ------
    InvalidInput
        If the format cannot represent the graph or the fabric; the message gives the reason and a remedy.
    NoRoute
        If two servers of the fabric cannot reach each other.
    """
    _check_expressible(graph, name)
    if fabric.reconfiguration is not None:
        raise InvalidInput(
            f"{name}: fabric {fabric.name} changes its circuits, and .fbuf holds fixed connections; "
            "write the plan on another fabric"
        )
    if fabric.topology.servers < graph.servers:
        raise InvalidInput(
            f"{name}: {graph.servers} servers have tasks, fabric {fabric.name} has {fabric.topology.servers}"
        )
    connections, cable_bps = cables(fabric, name)
    netbw = float(np.float32(cable_bps / 8e3))
    plan = ring_plan(fabric, graph.groups, name, drop_rings)
    rows = _rows(graph, plan)
    devices, device_of = _devices(graph, fabric.topology.nodes, rows)
    around = [(a, b) for group in rows.members for a, b in zip(group, group[1:] + group[:1], strict=True)]
    ring = np.array(around, np.int64).reshape(-1, 2)
    src, dst = np.concatenate([rows.src, ring[:, 0]]), np.concatenate([rows.dst, ring[:, 1]])
    used = (src >= 0) & (src != dst)
    pairs_in_use = np.unique(src[used] * fabric.topology.servers + dst[used])
    number = len(graph.operator_names)
    operators = Operators(
        (np.arange(number) + 1).astype(np.uint64), np.zeros(number, np.int32), graph.operator_names
    )
    written = FlexNetGraph(
        name,
        graph.devices // graph.servers,
        fabric.topology.servers,
        fabric.topology.nodes - fabric.topology.servers,
        INTRA_GPU_BYTES_PER_MS,
        MEMORY_BYTES_PER_MS,
        netbw,
        connections,
        operators,
        _tasks(graph, rows, device_of, netbw),
        devices,
        routes_of(fabric, pairs_in_use, name),
        plan.descriptors,
    )
    check(written)
    return written


def _check_expressible(graph: TaskGraph, name: str) -> None:
    if graph.iterations > 1:
        raise InvalidInput(f"{name}: holds {graph.iterations} iterations, .fbuf holds one; build it with 1")
    collective = graph.kind == COLLECTIVE
    delayed = (graph.duration_s > 0) & ((graph.kind == TRANSFER) | (graph.collective == ALL_TO_ALL))
    followed = np.diff(graph.successor_first) > 0
    rules = (
        (
            collective & (graph.collective != _ALLREDUCE) & (graph.collective != ALL_TO_ALL),
            "is a collective that .fbuf has no task for; write it as transfers (schedule_task_graph)",
        ),
        (
            collective & (graph.collective == _ALLREDUCE) & followed,
            "is waited for, and in .fbuf nothing waits for an AllReduce; write it as transfers "
            "(schedule_task_graph)",
        ),
        (delayed, "has a delay, which .fbuf has for AllReduces only; put a compute task before it"),
    )
    for bad, rule in rules:
        if bad.any():
            task = int(np.argmax(bad))
            raise InvalidInput(f"{name}: task {task}, {graph.name(task)}: {rule}")


def _rows(graph: TaskGraph, plan: RingPlan) -> _Rows:
    """Return the tasks to be written, in the order of ours."""
    compute = np.flatnonzero(graph.kind == COMPUTE)
    parts = [
        (compute, graph.src[compute], graph.dst[compute], graph.size_bytes[compute]),
        pair_demands(graph),
    ]
    members: list[tuple[int, ...]] = []
    for task in np.flatnonzero(graph.collective == _ALLREDUCE).tolist():
        group, size = graph.members(task), int(graph.size_bytes[task])
        orders = plan.orders.get(tuple(sorted(group)), (group,))
        members += orders
        none, share = np.full(len(orders), -1), size // len(orders)
        rest = np.arange(len(orders)) < size % len(orders)
        parts.append((np.full(len(orders), task), none, none, share + rest))
    origin, src, dst, size_bytes = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(origin, kind="stable")
    origin = origin[order]
    types = np.where(graph.kind == COMPUTE, FORWARD, NOMINAL_COMM)
    backward = [PHASES.index(name) for name in ("backward", "weights")]
    types[(graph.kind == COMPUTE) & np.isin(graph.phase, backward)] = BACKWARD
    types[graph.collective == _ALLREDUCE] = ALLREDUCE
    rows = types[origin].astype(np.int16), src[order], dst[order], size_bytes[order]
    return _Rows(origin, *rows, tuple(members))


def _devices(graph: TaskGraph, nodes: int, rows: _Rows) -> tuple[Devices, Ints]:
    """Return one GPU per device of the graph, one network device per pair, and each row's device (-1: none).

    Numbers of devices are rows of the table + 1: in FlexNet's files 0 means none.
    """
    servers = np.arange(graph.devices) // (graph.devices // graph.servers)
    pair = np.where(rows.src >= 0, rows.src * nodes + rows.dst, -1)
    pairs, of_row = np.unique(pair[pair >= 0], return_inverse=True)
    device = np.where(rows.type == ALLREDUCE, -1, graph.device[rows.origin])
    device[pair >= 0] = graph.devices + of_row
    number = np.arange(graph.devices + len(pairs)) + 1
    return (
        Devices(
            np.repeat([COMP_GPU, NW_NOMINAL], [graph.devices, len(pairs)]).astype(np.int16),
            number.astype(np.uint64),
            np.concatenate([servers.astype(np.uint64), np.full(len(pairs), NO_NODE, np.uint64)]),
            np.concatenate([np.arange(graph.devices), pairs]).astype(np.uint64),
            np.zeros(len(number), np.uint64),
        ),
        device,
    )


def _tasks(graph: TaskGraph, rows: _Rows, device: Ints, netbw: float) -> Tasks:
    # nexttasks of every row: numbers of rows + 1, or of an AllReduce its members
    source, target = _dependencies(graph, rows)
    reduces = np.flatnonzero(rows.type == ALLREDUCE)
    owner = np.concatenate([source, np.repeat(reduces, [len(group) for group in rows.members])])
    members = np.array([member for group in rows.members for member in group], np.int64)
    entry = np.concatenate([target + 1, members])
    order = np.argsort(owner, kind="stable")
    first, following = np.searchsorted(owner[order], np.arange(len(rows) + 1)).astype(np.int64), entry[order]
    runtime = np.where(rows.src >= 0, rows.size_bytes / netbw, graph.duration_s[rows.origin] * 1e3)
    return Tasks(
        rows.type,
        (np.arange(len(rows)) + 1).astype(np.uint64),
        (device + 1).astype(np.uint64),
        np.minimum(runtime, np.finfo(np.float32).max).astype(np.float32),
        np.where(rows.type <= BACKWARD, 0, rows.size_bytes).astype(np.uint64),
        first,
        following.astype(np.uint64),
    )


def _dependencies(graph: TaskGraph, rows: _Rows) -> tuple[Ints, Ints]:
    """Return the dependencies between rows, including those through tasks that are not written."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import

    tasks = len(graph)
    first = np.searchsorted(rows.origin, np.arange(tasks + 1))
    count = np.diff(first)
    written, skipped = np.flatnonzero(count), np.flatnonzero(count == 0)
    ones = np.ones(len(graph.successor), bool)
    edges = csr_array((ones, graph.successor, graph.successor_first), (tasks, tasks))
    reached = ahead = edges[written]
    while len(skipped) and ahead.nnz:  # one more skipped task in between each time
        ahead = ahead[:, skipped] @ edges[skipped]
        reached = reached + ahead
    row, target = reached.nonzero()
    source, target = written[row], target.astype(np.int64)
    source, target = source[count[target] > 0], target[count[target] > 0]
    pairs = count[source] * count[target]
    if pairs.sum() > _MOST_DEPENDENCIES:
        raise InvalidInput(
            f"task graph: all-to-alls that wait for each other make {pairs.sum()} dependencies as .fbuf, at most "
            f"{_MOST_DEPENDENCIES} are written; put a compute task between them"
        )
    edge = np.repeat(np.arange(len(source)), pairs)
    place = np.arange(len(edge)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    wide = count[target[edge]]
    return first[source[edge]] + place // wide, first[target[edge]] + place % wide


def flexnet_task_graph(flexnet: FlexNetGraph) -> TaskGraph:
    """Return the tasks and their dependencies; task t of the result is the file's row t.

    ``duration_s`` is the file's float32 milliseconds, widened and divided by 1000, so that
    ``numpy.float32(duration_s * 1e3)`` gives exactly the file's value.

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
    if not len(known):
        return np.full(len(numbers), -1, np.int64)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known[order], numbers), len(known) - 1)]
    return np.where(known[place] == numbers, place, -1)


def _edges(flexnet: FlexNetGraph) -> tuple[Ints, Ints]:
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
    """Return the phase of each task; a transfer carries the data of the task after it."""
    tasks = flexnet.tasks
    phase = np.full(len(tasks), PHASES.index("other"))
    for code, name in ((FORWARD, "forward"), (BACKWARD, "backward"), (ALLREDUCE, "allreduce")):
        phase[(tasks.type == code) & ~transfers] = PHASES.index(name)
    before, after = _edges(flexnet)
    for code, name in ((BACKWARD, "gradient"), (FORWARD, "activation")):
        feeds = before[tasks.type[after] == code]
        phase[feeds[transfers[feeds]]] = PHASES.index(name)
    return phase
