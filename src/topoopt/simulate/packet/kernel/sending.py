"""How packets leave their server: which one is next, and onto which link."""

from topoopt.kernel import compiled, inlined
from topoopt.simulate.packet.kernel.draws import uniform
from topoopt.simulate.packet.kernel.layout import (
    AGAIN,
    BUSY,
    CWND,
    F_BOARD,
    F_FURTHEST,
    F_LEAVES,
    F_LIVE,
    F_LOST,
    F_LOST_FROM,
    F_PACKETS,
    F_PAIR,
    F_PIPE,
    F_PLACE,
    F_RESENT,
    F_SENT,
    F_TIMED,
    F_TIMED_AGAIN,
    F_TIMED_AT,
    FLYING,
    FLYING_AGAIN,
    GO_BACK_N,
    HOPWISE,
    LOSSY,
    MISSING,
    RESENT,
    SEED,
    SENT,
    SPRAY,
    State,
)
from topoopt.simulate.packet.kernel.links import enqueue
from topoopt.simulate.packet.kernel.timeouts import wait_for_news
from topoopt.simulate.packet.kernel.ways import next_link, start_of

BURST = 256
"""Packets that one acknowledgment may release."""


@inlined
def drawn_path(s: State, pair: int, number: int) -> int:
    """Return the path that the number-th connection (or sprayed packet) takes."""
    first, last = s.pair_first[pair], s.pair_first[pair + 1] - 1
    if first == last:
        return first
    place = uniform(s.count[SEED], number)
    while first < last and s.path_cumulative[first] <= place:
        first += 1
    return first


@compiled
def draw_place(s: State, flow: int) -> None:
    """Draw the way of the next packet, where each takes its own."""
    s.flow[flow, F_PLACE] = s.path_start[drawn_path(s, s.flow[flow, F_PAIR], s.count[SENT])]


@inlined
def first_link(s: State, flow: int, what: int) -> int:
    """Return the link by which the next packet leaves."""
    if s.count[HOPWISE] == 1:
        return next_link(s, start_of(s, flow, what), flow, what)
    return s.path_link[s.flow[flow, F_PLACE]]


@inlined
def launch(s: State, flow: int, what: int, now: int) -> None:
    """Put a packet onto the first link of the flow's path."""
    row = s.flow[flow]
    link = first_link(s, flow, what)
    place = link if s.count[HOPWISE] == 1 else row[F_PLACE]
    s.count[SENT] += 1
    row[F_LIVE] += 1
    if not enqueue(s, link, (flow << 32) | place, what, now):
        row[F_LIVE] -= 1


@compiled
def launch_one(s: State, flow: int, what: int, now: int) -> None:
    """Put a packet onto the first link of the flow's path, and note when it will have left the server."""
    launch(s, flow, what, now)
    s.flow[flow, F_LEAVES] = s.link[first_link(s, flow, what), BUSY]


@inlined
def has_more(s: State, flow: int) -> bool:
    """Return whether anything is left to send, lost packets included."""
    return s.flow[flow, F_LOST] + s.flow[flow, F_PACKETS] > s.flow[flow, F_SENT]


@inlined
def send(s: State, flow: int, now: int) -> None:
    """Send what the window allows, lost packets first."""
    row = s.flow[flow]
    room = min(int(s.window[flow, CWND]) - row[F_PIPE], BURST)
    if room <= 0:
        return
    if s.count[LOSSY] == 1:
        while room > 0 and has_more(s, flow):
            if s.count[SPRAY] == 1:
                draw_place(s, flow)
            send_one(s, flow, now)
            room -= 1
        return
    room = min(room, row[F_PACKETS] - row[F_SENT])
    if row[F_TIMED] < 0:
        row[F_TIMED] = row[F_SENT]
        row[F_TIMED_AT] = now
    for _ in range(room):
        what = row[F_SENT] << 3
        row[F_SENT] += 1
        row[F_PIPE] += 1
        if s.count[SPRAY] == 1:
            draw_place(s, flow)
        launch(s, flow, what, now)


@compiled
def send_one(s: State, flow: int, now: int) -> None:
    """Send the first lost packet, or the next new one."""
    row = s.flow[flow]
    if row[F_PIPE] == 0 and s.count[LOSSY] == 1:
        wait_for_news(s, flow, now)
    if row[F_LOST] > 0:
        sequence = row[F_LOST_FROM]
        while s.board[row[F_BOARD] + sequence] != MISSING:
            sequence += 1
        row[F_LOST_FROM] = sequence + 1
        row[F_LOST] -= 1
    else:
        sequence = row[F_SENT]
        row[F_SENT] += 1
    again = sequence < row[F_FURTHEST]
    if again:
        row[F_RESENT] += 1
        s.count[RESENT] += 1
    row[F_FURTHEST] = max(row[F_FURTHEST], sequence + 1)
    if row[F_TIMED] < 0 or row[F_TIMED] == sequence:
        row[F_TIMED] = sequence
        row[F_TIMED_AT] = now
        row[F_TIMED_AGAIN] = again
    if s.count[LOSSY] == 1 and s.count[GO_BACK_N] == 0:
        s.board[row[F_BOARD] + sequence] = FLYING_AGAIN if again else FLYING
    row[F_PIPE] += 1
    launch_one(s, flow, (sequence << 3) | (AGAIN if again else 0), now)
