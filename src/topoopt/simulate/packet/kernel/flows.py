"""Rows of open connections: when they are given back, and what is kept of them."""

from topoopt.kernel import compiled, inlined
from topoopt.simulate.packet.kernel.layout import (
    CLOSED,
    F_LIVE,
    F_MARKS,
    F_NEXT,
    F_PACE,
    F_PACKETS,
    F_PAIR,
    F_PATH,
    F_RESENT,
    F_STARTED,
    F_STATE,
    F_STREAM,
    FLOWS_DONE,
    FREE,
    FREE_FLOW,
    L_FINISH,
    L_MARKS,
    L_PACKETS,
    L_PAIR,
    L_PATH,
    L_RESENT,
    L_START,
    L_STREAM,
    LOGGED,
    OPEN_FLOWS,
    PACE_WAITING,
    State,
)


@inlined
def free_if_done(s: State, flow: int) -> None:
    """Give the row back when everything is in, nothing of it is on its way, and no queue of senders names it."""
    row = s.flow[flow]
    if row[F_STATE] == CLOSED and row[F_LIVE] == 0 and row[F_PACE] != PACE_WAITING:
        row[F_STATE] = FREE
        row[F_NEXT] = s.count[FREE_FLOW]
        s.count[FREE_FLOW] = flow
        s.count[FLOWS_DONE] += 1
        s.count[OPEN_FLOWS] -= 1


@compiled
def packet_lost(s: State, flow: int) -> None:
    """Note that the network has dropped a packet of the flow; who has to learn it, learns it by the gap."""
    s.flow[flow, F_LIVE] -= 1
    free_if_done(s, flow)


@compiled
def log_connection(s: State, flow: int, now: int) -> None:
    """Keep a row for a connection that has ended, if there is room for any."""
    place = s.count[LOGGED]
    if place >= len(s.log):
        return
    s.count[LOGGED] = place + 1
    row, line = s.flow[flow], s.log[place]
    line[L_STREAM] = row[F_STREAM]
    line[L_PAIR] = row[F_PAIR]
    line[L_START] = row[F_STARTED]
    line[L_FINISH] = now
    line[L_PACKETS] = row[F_PACKETS]
    line[L_MARKS] = row[F_MARKS]
    line[L_RESENT] = row[F_RESENT]
    line[L_PATH] = row[F_PATH]
