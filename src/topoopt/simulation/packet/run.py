"""One run of the packet engine: in slices, between which arrays grow, progress is reported and Ctrl-C is handled.

The packet simulator on a reconfigurable fabric: the engine runs from change to change.

At a change every link is held: packets on the wire arrive, and the rest wait in their queues. When the new
circuits are there, waiting packets look up their paths anew. Demand is the unacknowledged bytes of the open
connections.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder import demand_circuits, rewired
from topoopt.routing import Fabric, PathTable, RegionalReconfiguration
from topoopt.simulation.options import Report, SimulationOptions
from topoopt.simulation.packet.kernel import advance, layout
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.link_rows import PS, pfc_bytes, serial_columns
from topoopt.simulation.packet.options import TRANSPORTS, LinkFailure, PacketOptions
from topoopt.simulation.packet.state import grown, room_to_move
from topoopt.simulation.packet.streams import EdgeBook, Edges, check_progress
from topoopt.topologies import Topology

SLICE_EVENTS = 2_000_000
"""Events between two reports: a fraction of a second."""


def schedule_failures(state: State, fabric: Fabric, failures: tuple[LinkFailure, ...]) -> None:
    """Set the timers of all failures and repairs; the state must be that of time 0.

    Raises
    ------
    InvalidInput
        If a failure names a link that the fabric does not have.
    """
    rows: list[tuple[int, int]] = []
    for failure in failures:
        link = fabric.topology.link_id(failure.src, failure.dst)
        if link < 0:
            raise InvalidInput(
                f"failure: fabric {fabric.name} has no link {failure.src}->{failure.dst}; name one that it has"
            )
        rows.append((round(failure.fail_s * PS), (layout.Timer.LINK_CHANGE_DOWN << layout.KIND_SHIFT) | link))
        if failure.repair_s < float("inf"):
            rows.append(
                (round(failure.repair_s * PS), (layout.Timer.LINK_CHANGE_UP << layout.KIND_SHIFT) | link)
            )
    for place, (when, code) in enumerate(sorted(rows)):  # a sorted list is a heap
        state.timer[place], state.timer_code[place] = when, code
    state.count[layout.Count.TIMER_SIZE] = len(rows)


def run_until(
    state: State,
    until_ps: int,
    edges: Edges,
    options: PacketOptions,
    most_successors: int,
    on_progress: Report | None = None,
    *,
    may_wait: bool = False,
) -> tuple[State, bool]:
    """Serve all events before a time; return the state, whose arrays may be new, and whether all tasks are done.

    With ``may_wait`` it is no deadlock if nothing can happen any more before the caller changes something.

    Raises
    ------
    Infeasible
        If the arrays exceed the memory limit, a connection can never be served, or links that pause each other
        have come to a deadlock.
    """
    while True:
        why = advance(state, SLICE_EVENTS, until_ps, most_successors)
        if why == layout.Stop.FINISHED:
            return state, True
        if why == layout.Stop.TIME_REACHED or (why == layout.Stop.DRAINED and may_wait):
            return state, False
        if why == layout.Stop.SLICE_OVER:
            if on_progress is not None:
                # packets, not tasks: the largest AllReduces of a job are few, and come last
                stream = state.stream
                packets = stream[:, layout.Stream.EDGES] * stream[:, layout.Stream.PACKETS]
                total = float((packets * stream[:, layout.Stream.ROUNDS]).sum())
                on_progress(float((packets * stream[:, layout.Stream.ROUND]).sum()) / total if total else 0.0)
        elif why == layout.Stop.STUCK:
            raise _deadlock(state) if _paused(state) else _stuck(state, edges)
        elif why == layout.Stop.DRAINED:
            raise _deadlock(state)
        else:
            state = grown(state, why, options)


def _stuck(state: State, edges: Edges) -> Infeasible:
    flow = state.flow[state.count[layout.Count.STUCK_FLOW]]
    pair = flow[layout.Flow.PAIR]
    return Infeasible(
        f"packet simulator: connection {edges.src[pair]}->{edges.dst[pair]} gave up after "
        f"{flow[layout.Flow.TIMEOUTS]} timeouts in a row at {state.count[layout.Count.NOW] / PS:.3f} s; "
        "a link that it needs is never repaired, or the buffers are too small"
    )


def _paused(state: State) -> int:
    return int((state.link[:, layout.Link.STATE] & layout.PAUSED > 0).sum())


def _deadlock(state: State) -> Infeasible:
    if not _paused(state):
        return Infeasible(
            f"packet simulator: at {state.count[layout.Count.NOW] / PS:.3g} s the clock of 2^62 ps ends before the "
            "job does; links are too slow for it, use simulator=flow"
        )
    return Infeasible(
        f"packet simulator: deadlock at {state.count[layout.Count.NOW] / PS:.3f} s: {_paused(state)} links are "
        "paused and wait for each other in a circle; take routes without cycles, or a transport without PFC"
    )


def all_pairs(fabric: Fabric) -> Topology:
    """Return a link for each ordered pair of servers, of one circuit: every place where a circuit may be.

    Link ``source · servers + destination``; those of a server to itself stand at their places and are never used.
    """
    rule, servers = fabric.beat, fabric.topology.servers
    src, dst = (side.ravel() for side in np.indices((servers, servers)))
    pairs = len(src)
    return Topology(
        fabric.name,
        servers,
        servers,
        src.astype(np.int32),
        dst.astype(np.int32),
        np.ones(pairs, np.int32),
        np.full(pairs, rule.bandwidth_bps),
        np.full(pairs, rule.latency_s),
    )


def check_options(options: PacketOptions, fabric: Fabric) -> None:
    """Refuse options that have no meaning where paths change in flight.

    Raises
    ------
    InvalidInput
        For failures, cut transfers, sprayed packets and priority flow control, and for regional circuits.
    """
    if isinstance(fabric.reconfiguration, RegionalReconfiguration):
        raise InvalidInput(
            f"packet simulator: not on {fabric.name}, whose circuits follow one all-to-all after another; "
            "use simulator=flow"
        )
    transport = TRANSPORTS[options.transport]
    for refused, what in (
        (len(options.failures) > 0, "failures of links"),
        (options.path_choice != "connection", f"path choice {options.path_choice}"),
        (
            pfc_bytes(options, transport)[0] < layout.NEVER,
            f"transport {options.transport}, which needs priority flow control",
        ),
        (options.acks == "reverse" and not fabric.beat.duplex, "acknowledgments on the way back"),
    ):
        if refused:
            raise InvalidInput(
                f"packet simulator: {what}: not on {fabric.name}, whose circuits change; use another fabric"
            )


def pairs_only(book: EdgeBook) -> Edges:
    """Return the edges without paths, which the engine looks up hop by hop."""
    src, dst = book.ends()
    key, row = np.unique(src * book.fabric.topology.servers + dst, return_inverse=True)
    rows = len(key)
    one = np.arange(rows + 1)
    table = PathTable(one, np.ones(rows), np.zeros(rows + 1, np.int64), np.zeros(0, np.int32))
    first, second = np.divmod(key, book.fabric.topology.servers)
    return Edges(row.astype(np.int64), first, second, table)


def run_on_circuits(
    state: State,
    fabric: Fabric,
    edges: Edges,
    options: SimulationOptions,
    most_successors: int,
    on_progress: Report | None,
) -> State:
    """Serve all events, changing circuits on the beat of the fabric's rule; return the last state.

    Raises
    ------
    Infeasible
        As :func:`topoopt.simulation.packet.run.run_until`.
    """
    rule, servers = fabric.beat, fabric.topology.servers
    state = state._replace(circuit=np.zeros((servers * servers, 3), np.int64))
    state.count[layout.Count.HOPWISE] = 1
    state = _connected(state, fabric, options.packet)
    # links with circuits send, the others hold
    lit = state.circuit[:, 0] > 0
    state.link[lit, layout.Link.SERIAL] = state.circuit[lit, 0]
    state.link[lit, layout.Link.SERIAL_OPEN] = state.circuit[lit, 1]
    state.link[lit, layout.Link.SERIAL_ACK] = state.circuit[lit, 2]
    state.link[:, layout.Link.STATE] = np.where(lit, layout.UP, layout.PAUSED)
    change_s, circuits = rule.first_change_s, None
    while True:
        state, done = run_until(
            state, _ps(change_s) + 1, edges, options.packet, most_successors, on_progress, may_wait=True
        )
        if done:
            return state
        rows = state.flow[: state.count[layout.Count.FLOWS_USED]]
        rows = rows[
            (rows[:, layout.Flow.STATE] == layout.OPENING) | (rows[:, layout.Flow.STATE] == layout.OPEN)
        ]
        left = (rows[:, layout.Flow.PACKETS] - rows[:, layout.Flow.ACKED]) * layout.SIZE_DATA
        place = rows[:, layout.Flow.SRC] * servers + rows[:, layout.Flow.DST]
        total: Floats = np.bincount(place, left, minlength=servers * servers).astype(np.float64)
        demand = total.reshape(servers, servers)
        if not demand.any():
            next_event_s = float(state.timer[0]) / PS if state.count[layout.Count.TIMER_SIZE] else 0.0
            change_s = max(rule.next_change_s(next_event_s), change_s + rule.period_s)
            continue
        check_progress(fabric, demand, change_s)
        _command(state, layout.HOLD_ALL, _ps(change_s))
        until = _ps(change_s + rule.delay_s)
        state, done = run_until(
            state, until, edges, options.packet, most_successors, on_progress, may_wait=True
        )
        if done:
            return state
        next_circuits = demand_circuits(demand, rule)
        if circuits is None or (next_circuits != circuits).any():
            circuits, fabric = next_circuits, rewired(fabric, next_circuits)
            state = _connected(state, fabric, options.packet)
        state = room_to_move(state, options.packet)
        _command(state, layout.RECONNECT, until)
        change_s += rule.period_s


def _ps(time_s: float) -> int:
    return round(min(time_s * PS, layout.NEVER / 2))


def _command(state: State, command: int, now_ps: int) -> None:
    state.count[layout.Count.NOW] = now_ps
    state.count[layout.Count.COMMAND] = command


def _connected(state: State, fabric: Fabric, options: PacketOptions) -> State:
    """Return the state with the wire times and paths of a fabric's circuits."""
    servers, topology = fabric.topology.servers, fabric.topology
    place = topology.src.astype(np.int64) * servers + topology.dst
    state.circuit[:] = 0
    state.circuit[place] = serial_columns(topology.bandwidth_bps, options.compat)
    first, link = _ways(fabric)
    return state._replace(hop_first=first, hop_link=link)


def _ways(fabric: Fabric) -> tuple[Ints, Ints]:
    """Return the next links from every server to every other, by rows of ``server · servers + destination``.

    With host forwarding those on shortest paths, each as often as it has circuits. Without, the pair's own.
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import shortest_path  # noqa: PLC0415 - slow to import

    servers, topology = fabric.topology.servers, fabric.topology
    if not fabric.beat.host_forwarding:
        return np.arange(servers * servers + 1), np.arange(servers * servers)
    src, dst = topology.src.astype(np.int64), topology.dst.astype(np.int64)
    # the links between all servers, shape (servers, servers); infinite where there is no way
    n = topology.servers
    matrix = csr_matrix((np.ones(len(topology)), (topology.src, topology.dst)), (n, n))
    hops: Floats = shortest_path(matrix, unweighted=True)
    link, end = np.nonzero(hops[dst] + 1 == hops[src])
    row = src[link] * servers + end
    times = topology.ports[link]
    order = np.argsort(row, kind="stable")
    count = np.bincount(row, times, minlength=servers * servers).astype(np.int64)
    number = np.repeat((src * servers + dst)[link][order], times[order])
    return np.concatenate(([0], np.cumsum(count))), number
