"""The arrays of a packet simulation before its first event, and larger ones when they are full."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, entries_between
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.units import format_bytes
from topoopt.routing import cumulative_weights
from topoopt.simulation.analytic.simulator import compute_finish_s
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.kernel.flows import slots_needed, timers_needed
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.kernel.transports import CODES
from topoopt.simulation.packet.link_rows import PS, link_rows, pfc_bytes
from topoopt.simulation.packet.options import TRANSPORTS, PacketOptions, Transport
from topoopt.simulation.packet.streams import Edges, Streams
from topoopt.simulation.task_graph import COMPUTE, TaskGraph
from topoopt.topologies import Topology

FIRST_SLOTS = 1 << 14
FIRST_FLOWS = 1 << 10
FIRST_BOARD = 1 << 16
SPRAY_REORDER = 128
"""More than a queue holds in front of an ECN threshold of 50 packets."""


def first_state(
    graph: TaskGraph, topology: Topology, streams: Streams, edges: Edges, options: SimulationOptions
) -> State:
    """Return the state at time 0: nothing sent, the tasks that wait for none released.

    Raises
    ------
    InvalidInput
        If a failure names a missing link, or acknowledgments have no reverse path.
    Infeasible
        If the arrays would exceed the memory limit.
    """
    packet_options = options.packet
    transport = TRANSPORTS[packet_options.transport]
    path_start, path_link, path_reverse = _paths(topology, edges, packet_options)
    table = edges.paths
    successors = int(np.diff(graph.successor_first).max(initial=0))
    count = _counts(packet_options, transport, streams, topology, options.seed)
    timers = (
        len(graph) + graph.devices + 2 * len(packet_options.failures) + timers_needed(count, 2 * successors)
    )
    accounts = make_accounts(graph, streams, edges, packet_options)
    log = streams.connections if packet_options.log_flows else 0
    _check_memory(log * len(layout.Log) * 8 + path_link.nbytes, packet_options)
    state = State(
        count=count,
        due=np.zeros(len(topology) + 1, np.int64),
        due_link=np.zeros(len(topology) + 1, np.int64),
        timer=np.zeros(timers, np.int64),
        timer_code=np.zeros(timers, np.int64),
        link=link_rows(topology, packet_options, transport),
        packet=np.zeros((FIRST_SLOTS, 4), np.int64),
        flow=np.zeros((FIRST_FLOWS, len(layout.Flow)), np.int64),
        window=np.zeros((FIRST_FLOWS, layout.WINDOW_FIELDS)),
        board=np.zeros(
            FIRST_BOARD if _can_lose(packet_options) and packet_options.recovery == "selective" else 0,
            np.int8,
        ),
        constant=np.concatenate([_constants(transport, packet_options), accounts.ravel()]),
        path_start=path_start,
        path_link=path_link,
        path_cumulative=cumulative_weights(table.pair_first, table.weight),
        path_reverse=path_reverse,
        pair_first=table.pair_first,
        pair_end=np.stack([edges.src, edges.dst], axis=1),
        edge_pair=edges.row,
        stream=_stream_rows(streams),
        task_stream=streams.task_first,
        task=_task_rows(graph, packet_options),
        successor_first=graph.successor_first,
        successor=graph.successor.astype(np.int64),
        device=np.full((graph.devices, len(layout.Device)), -1, np.int64),
        starting=np.zeros(len(streams.task) + 1, np.int64),
        log=np.zeros((log, len(layout.Log)), np.int64),
        hop_first=np.zeros(1, np.int64),
        hop_link=np.zeros(0, np.int64),
        circuit=np.zeros((0, 3), np.int64),
    )
    state.device[:, [layout.Device.BUSY, layout.Device.CALLED]] = 0
    return state


def grown(state: State, why: int, options: PacketOptions) -> State:
    """Return the state with twice the room where the engine ran out of it.

    Raises
    ------
    Infeasible
        If that would exceed the memory limit.
    """
    count = state.count
    if why == layout.Stop.FULL_SLOTS:
        names, size = ["packet"], max(2 * len(state.packet), 2 * int(slots_needed(count)))
    elif why == layout.Stop.FULL_FLOWS:
        names, size = ["flow", "window"], 2 * len(state.flow)
    elif why == layout.Stop.FULL_TIMERS:
        needed = int(count[layout.Count.TIMER_SIZE] + timers_needed(count, 0))
        names, size = ["timer", "timer_code"], len(state.timer) + needed
    else:
        needed = int(count[layout.Count.BOARD_USED] + count[layout.Count.LARGEST_BOARD])
        names, size = ["board"], max(2 * len(state.board), needed)
    more = sum(getattr(state, name).nbytes // max(len(getattr(state, name)), 1) * size for name in names)
    _check_memory(memory_bytes(state) + more, options)
    return state._replace(**{name: _longer(getattr(state, name), size) for name in names})


def room_to_move(state: State, options: PacketOptions) -> State:
    """Return the state with slots enough for every waiting packet to change its queue.

    Raises
    ------
    Infeasible
        If that would exceed the memory limit.
    """
    senders = min(int(state.count[layout.Count.OPEN_FLOWS]), len(state.link))
    needed = 2 * int(slots_needed(state.count)) + 3 * int(state.count[layout.Count.SLOTS_USED]) + 64 * senders
    if len(state.packet) >= needed:
        return state
    _check_memory(memory_bytes(state) + needed * 32, options)
    return state._replace(packet=_longer(state.packet, needed))


def memory_bytes(state: State) -> int:
    """Return the bytes of all arrays."""
    return sum(array.nbytes for array in state)


def _check_memory(size: int, options: PacketOptions) -> None:
    if size > options.memory_limit_bytes:
        raise Infeasible(
            f"packet simulator: this run would need {format_bytes(size)} of memory, more than the limit of "
            f"{format_bytes(options.memory_limit_bytes)}; raise memory_limit, or use simulator=flow"
        )


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.zeros((size, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _can_lose(options: PacketOptions) -> bool:
    return options.buffer_packets is not None or len(options.failures) > 0


def _counts(
    options: PacketOptions, transport: Transport, streams: Streams, topology: Topology, seed: int
) -> Ints:
    count = np.zeros(layout.COUNTS, np.int64)
    count[[layout.Count.FREE_FLOW, layout.Count.STUCK_FLOW]] = -1
    count[layout.FREE_RINGS : layout.FREE_RINGS + 64] = -1
    count[layout.Count.TRANSPORT] = CODES[transport.law]
    count[layout.Count.KEEPS] = int(options.kept) + int(options.weights is not None)
    count[layout.Count.LOSSY] = int(_can_lose(options))
    count[layout.Count.SPRAY] = int(options.path_choice == "packet")
    count[layout.Count.ACKS_TRAVEL] = int(options.acks == "reverse")
    count[layout.Count.SEED] = seed
    count[layout.Count.SERVERS] = topology.servers
    count[layout.Count.PACED] = int(transport.paced)
    count[layout.Count.GO_BACK_N] = int(options.recovery == "go-back-n")
    count[layout.Count.SPREAD] = np.bincount(topology.src).max() if options.path_choice == "packet" else 1
    count[layout.Count.MORE_TIMERS] = np.bincount(topology.dst).max()
    count[[layout.Count.PFC_OFF_BYTES, layout.Count.PFC_ON_BYTES]] = pfc_bytes(options, transport)
    largest = int(streams.packets.max(initial=1))
    if largest >= layout.NO_SEQUENCE:
        raise InvalidInput(
            f"packet simulator: a connection of {largest:.3g} packets is too long, the most is "
            f"{layout.NO_SEQUENCE - 1}; use simulator=flow"
        )
    count[layout.Count.LARGEST_BOARD] = max(8, 1 << (largest - 1).bit_length())
    return count


def _constants(transport: Transport, options: PacketOptions) -> NDArray[np.float64]:
    constant = np.zeros(layout.ACCOUNTS)
    constant[layout.Constant.FIRST_WINDOW] = transport.first_window_packets
    constant[layout.Constant.SSTHRESH] = transport.ssthresh_packets
    constant[layout.Constant.REORDER] = _reorder_packets(transport, options)
    constant[layout.Constant.TIMEOUT_MIN] = (options.timeout_min_s or transport.timeout_min_s) * PS
    constant[layout.Constant.TIMEOUT_FIRST] = (options.timeout_min_s or transport.timeout_first_s) * PS
    constant[layout.Constant.MARK_SHARE] = transport.mark_share
    constant[layout.Constant.NOTICE] = transport.notice_interval_s * PS
    if options.weights is not None:
        constant[layout.Constant.GAP_SHARE] = transport.gap_share
        constant[layout.CONSTANTS :] = options.weights.table()
    own = [round(value * PS) if name.endswith("_s") else value for name, value in transport.own.items()]
    constant[layout.C_OWN : layout.C_OWN + len(own)] = own
    return constant


def _reorder_packets(transport: Transport, options: PacketOptions) -> int:
    """Return the number of later packets that must arrive before one counts as lost.

    A sprayed packet may be overtaken by as many as wait in its queue.
    """
    if options.path_choice != "packet":
        return transport.reorder_packets
    return max(transport.reorder_packets, min(options.buffer_packets or SPRAY_REORDER, SPRAY_REORDER))


def _stream_rows(streams: Streams) -> Ints:
    rows = np.zeros((len(streams.task), len(layout.Stream)), np.int64)
    rows[:, layout.Stream.TASK] = streams.task
    rows[:, layout.Stream.ROUNDS] = streams.rounds
    rows[:, layout.Stream.PACKETS] = streams.packets
    rows[:, layout.Stream.EDGE_FIRST] = streams.edge_first
    rows[:, layout.Stream.EDGES] = streams.edges
    return rows


def _task_rows(graph: TaskGraph, options: PacketOptions) -> Ints:
    rows = np.zeros((len(graph), len(layout.Task)), np.int64)
    rows[:, layout.Task.DEVICE] = np.where(graph.kind == COMPUTE, graph.device, -1)
    rows[:, layout.Task.DURATION] = duration_ps(graph.duration_s, options.compat)
    rows[:, layout.Task.WAITING] = graph.predecessors
    rows[:, [layout.Task.START, layout.Task.FINISH]] = -1
    rows[:, layout.Task.AFTER] = -1
    return rows


def duration_ps(duration_s: NDArray[np.float64], compat: str) -> Ints:
    """Return times in whole picoseconds; FlexNetPacket keeps them as 32-bit floats of milliseconds."""
    if (duration_s * PS >= layout.NEVER / 4).any():
        raise InvalidInput(
            f"packet simulator: a task of {duration_s.max():g} s is too long; use simulator=flow"
        )
    if compat == "flexnetpacket":
        return ((duration_s * 1e3).astype(np.float32).astype(np.float64) * 1e9).astype(np.int64)
    return np.rint(duration_s * PS).astype(np.int64)


def _paths(topology: Topology, edges: Edges, options: PacketOptions) -> tuple[Ints, Ints, Ints]:
    """Return the paths with a stop before and after each, their starts, and the return path of each."""
    table = edges.paths
    lengths = np.diff(table.path_first)
    paths = len(lengths)
    start = table.path_first[:-1] + np.arange(paths) + 1
    link = np.full(int(table.path_first[-1]) + paths + 1, -1, np.int64)
    place = np.repeat(start - table.path_first[:-1], lengths) + np.arange(len(table.link))
    link[place] = table.link
    if options.acks == "free":
        return start, link, np.full(paths, -1, np.int64)
    back = topology.link_ids(
        topology.dst[table.link].astype(np.int64), topology.src[table.link].astype(np.int64)
    )
    if (back < 0).any():
        bad = table.link[np.flatnonzero(back < 0)[0]]
        raise InvalidInput(
            f"packet simulator: acknowledgments have no way back: link {topology.src[bad]}->{topology.dst[bad]} "
            "has no link in the other direction; use free acknowledgments"
        )
    mirrored = np.full_like(link, -1)
    last = np.repeat(start + lengths - 1, lengths) - (place - np.repeat(start, lengths))
    mirrored[last] = back
    both = np.concatenate([link, mirrored[1:]])
    return (
        np.concatenate([start, start + len(link) - 1]),
        both,
        np.concatenate([paths + np.arange(paths), np.full(paths, -1)]),
    )


def make_accounts(graph: TaskGraph, streams: Streams, edges: Edges, options: PacketOptions) -> Floats:
    """Return an account for each pair, shape (pairs, ``KEPT_FIELDS``), or none where nothing is kept."""
    pairs = len(edges.src) if options.kept else 0
    rows = np.zeros((pairs, layout.KEPT_FIELDS))
    rows[:, layout.Account.HEARD_AT] = -1.0
    counter = np.arange(pairs)
    if options.weights is None or not len(streams.task):
        return rows
    edge, of_edge = entries_between(streams.edge_first, streams.edge_first + streams.edges)
    pair, task = edges.row[edge], streams.task[of_edge]
    if options.progress_of == "job":
        job, first = np.zeros(pairs, np.int64), np.full(int(graph.job.max()) + 1, pairs)
        job[pair] = graph.job[task]
        np.minimum.at(first, job[pair], pair)
        counter = first[job]
    rows[:, layout.Account.COUNTER] = layout.ACCOUNTS + layout.KEPT_FIELDS * counter
    if options.totals == "given":
        packets = (streams.packets * streams.rounds)[of_edge]
        iterations = np.zeros(int(graph.job.max()) + 1, np.int64)
        np.maximum.at(iterations, graph.job, graph.iteration + 1)
        an_iteration = packets / iterations[graph.job[task]]
        rows[:, layout.Account.TOTAL] = np.bincount(counter[pair], an_iteration, minlength=pairs)
        silence_s = _silence_s(graph, task, counter[pair], pairs)
        gap_ps = silence_s * TRANSPORTS[options.transport].gap_share * PS
        rows[:, layout.Account.GAP] = np.where(silence_s > 0, gap_ps, layout.NEVER)  # else nothing would tell
    return rows


def _silence_s(graph: TaskGraph, task: Ints, counter: Ints, counters: int) -> Floats:
    """Return the longest silence of each counter in the last iteration, if its own sends took no time.

    The iteration is a cycle: the time after the last send is followed by that before the first. So the silence is
    the computing time of a job that computes and then sends.
    """
    finish_s = compute_finish_s(graph)
    start_s = finish_s - np.where(graph.kind == COMPUTE, graph.duration_s, 0.0)
    last = np.zeros(int(graph.job.max()) + 1, np.int64)
    np.maximum.at(last, graph.job, graph.iteration)
    in_last = graph.iteration == last[graph.job]
    begins_s, ends_s = np.full(len(last), np.inf), np.zeros(len(last))
    np.minimum.at(begins_s, graph.job[in_last], start_s[in_last])
    np.maximum.at(ends_s, graph.job[in_last], finish_s[in_last])
    silence_s = np.zeros(counters)
    here = in_last[task]
    ready = np.stack([counter[here].astype(np.float64), finish_s[task[here]], graph.job[task[here]]], axis=1)
    ready = ready[np.lexsort((ready[:, 1], ready[:, 0]))]
    for rows in np.split(ready, np.flatnonzero(np.diff(ready[:, 0])) + 1):
        number, job = int(rows[0, 0]), int(rows[0, 2])
        around_s = rows[0, 1] - rows[-1, 1] + ends_s[job] - begins_s[job]
        silence_s[number] = max(around_s, np.diff(rows[:, 1]).max(initial=0.0))
    return silence_s
