"""One run of the packet engine: in slices, between which arrays grow, progress is told and Ctrl-C is heard."""

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation.packet.edges import Edges
from topoopt.simulation.packet.kernel import advance, layout
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.link_rows import PS
from topoopt.simulation.packet.options import LinkFailure, PacketOptions
from topoopt.simulation.packet.state import grown
from topoopt.simulation.report import Report

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
    slice_events: int = SLICE_EVENTS,
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
        why = advance(state, slice_events, until_ps, most_successors)
        if why == layout.Stop.FINISHED:
            return state, True
        if why == layout.Stop.TIME_REACHED or (why == layout.Stop.DRAINED and may_wait):
            return state, False
        if why == layout.Stop.SLICE_OVER:
            if on_progress is not None:
                on_progress(_share_done(state))
        elif why == layout.Stop.STUCK:
            raise _deadlock(state) if _paused(state) else _stuck(state, edges)
        elif why == layout.Stop.DRAINED:
            raise _deadlock(state)
        else:
            state = grown(state, why, options)


def _share_done(state: State) -> float:
    """Return the part of all packets that belongs to rounds that are done.

    Tasks would mislead: the largest AllReduces of a job are few, and come last.
    """
    stream = state.stream
    packets = stream[:, layout.Stream.EDGES] * stream[:, layout.Stream.PACKETS]
    total = float((packets * stream[:, layout.Stream.ROUNDS]).sum())
    return float((packets * stream[:, layout.Stream.ROUND]).sum()) / total if total else 0.0


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
