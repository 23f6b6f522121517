"""Connections: opened for every transfer, and for every member and round of a collective; closed when all is in.

A connection is opened with a packet of one byte; when it has arrived, the sender may send: what its window allows, or
at its own pace. A packet that arrives is acknowledged, at once or by a packet on the way back; then the one that
opens is answered likewise before the sender may send.
"""

from topoopt.kernel import compiled, inlined, spliced
from topoopt.simulate.packet.kernel.flows import free_if_done, log_connection
from topoopt.simulate.packet.kernel.layout import (
    ACKS_TRAVEL,
    AGAIN,
    C_NOTICE,
    CLOSED,
    CONNECTIONS,
    F_ACKED,
    F_ARRIVED,
    F_BACKOFF,
    F_BOARD,
    F_BOARD_CLASS,
    F_CNP_AT,
    F_CONNECTION,
    F_DEADLINE,
    F_DST,
    F_EXPECTED,
    F_HIGHEST,
    F_LEAVES,
    F_LIVE,
    F_MARKS,
    F_NEXT,
    F_PACE,
    F_PACKETS,
    F_PAIR,
    F_PATH,
    F_PIPE,
    F_PLACE,
    F_RESENT,
    F_SRC,
    F_STARTED,
    F_STATE,
    F_STREAM,
    F_TIMED,
    F_TIMED_AT,
    F_TIMEOUTS,
    F_TIMER,
    FLOWS_USED,
    FREE_FLOW,
    GO_BACK_N,
    HOPWISE,
    KIND_ACK,
    KIND_ACK_AGAIN,
    KIND_DATA,
    KIND_OPEN,
    LOSSY,
    MARKED,
    NO_SEQUENCE,
    OPEN,
    OPEN_FLOWS,
    OPENING,
    PACE_IDLE,
    PACED,
    RESENT,
    S_CURSOR,
    S_EDGE_FIRST,
    S_PACKETS,
    SENT,
    STUCK_FLOW,
    TIMEOUTS,
    State,
)
from topoopt.simulate.packet.kernel.links import enqueue
from topoopt.simulate.packet.kernel.pacing import go_on_pacing
from topoopt.simulate.packet.kernel.recovery import give_up, land, learn, take_board
from topoopt.simulate.packet.kernel.sending import drawn_path, launch_one, send, send_one
from topoopt.simulate.packet.kernel.tasks import connection_done
from topoopt.simulate.packet.kernel.timeouts import measure, set_timer, wait_for_news
from topoopt.simulate.packet.kernel.transports import acked, noticed, opened, timed_out
from topoopt.simulate.packet.kernel.ways import next_link, start_of

MOST_TIMEOUTS = 24
"""Timeouts in a row after which a connection is stuck."""


@compiled
def open_connection(s: State, stream: int, now: int) -> None:
    """Open the next connection of a stream: a packet of one byte goes ahead."""
    edge = s.stream[stream, S_EDGE_FIRST] + s.stream[stream, S_CURSOR]
    s.stream[stream, S_CURSOR] += 1
    flow = s.count[FREE_FLOW]
    if flow >= 0:
        s.count[FREE_FLOW] = s.flow[flow, F_NEXT]
    else:
        flow = s.count[FLOWS_USED]
        s.count[FLOWS_USED] = flow + 1
        s.flow[flow, F_BOARD_CLASS] = -1
    row = s.flow[flow]
    board, board_class = row[F_BOARD], row[F_BOARD_CLASS]
    row[:] = 0
    pair = s.edge_pair[edge]
    number = s.count[CONNECTIONS]
    s.count[CONNECTIONS] = number + 1
    path = drawn_path(s, pair, number)
    row[F_STREAM] = stream
    row[F_PAIR] = pair
    row[F_PATH] = path
    row[F_PLACE] = s.path_start[path]
    row[F_SRC] = s.pair_end[pair, 0]
    row[F_DST] = s.pair_end[pair, 1]
    row[F_PACKETS] = s.stream[stream, S_PACKETS]
    row[F_HIGHEST] = -1
    row[F_TIMED] = -1
    row[F_TIMER] = -1
    row[F_PACE] = PACE_IDLE
    row[F_STATE] = OPENING
    row[F_STARTED] = now
    row[F_TIMED_AT] = now
    row[F_CONNECTION] = number
    row[F_BOARD] = board
    row[F_BOARD_CLASS] = board_class
    s.count[OPEN_FLOWS] += 1
    opened(s, flow, now)
    if s.count[LOSSY] == 1:
        if s.count[GO_BACK_N] == 0:
            take_board(s, flow)
        wait_for_news(s, flow, now)
    launch_one(s, flow, KIND_OPEN, now)


@inlined
def go_on(s: State, flow: int, now: int) -> None:
    """Send more: as the window allows, or at the flow's own pace."""
    if s.count[PACED] == 0:
        send(s, flow, now)
    elif s.flow[flow, F_PACE] == PACE_IDLE:
        go_on_pacing(s, flow, now)


@compiled
def begin(s: State, flow: int, now: int) -> None:
    """Send what may be sent at the beginning, or after a timeout."""
    go_on(s, flow, now)


@spliced
def arrived_open(s: State, flow: int, now: int) -> None:
    """Take the packet that opens a connection: the sender may send, or is told so."""
    s.flow[flow, F_LIVE] -= 1
    if s.count[ACKS_TRAVEL] == 1 and s.flow[flow, F_STATE] != CLOSED:
        _send_ack(s, flow, NO_SEQUENCE, False, False, now)
    elif s.flow[flow, F_STATE] == OPENING:
        _begin_to_send(s, flow, now)
    free_if_done(s, flow)  # a second one, sent after a timeout, may be the last of its connection


@compiled
def _begin_to_send(s: State, flow: int, now: int) -> None:
    row = s.flow[flow]
    row[F_STATE] = OPEN
    if row[F_TIMEOUTS] == 0:
        measure(s, flow, now - row[F_TIMED_AT])
    row[F_TIMEOUTS] = 0
    if s.count[LOSSY] == 1:
        wait_for_news(s, flow, now)
    begin(s, flow, now)


@inlined
def arrived(s: State, flow: int, what: int, now: int) -> None:
    """Take data at the receiver, and acknowledge it; or an acknowledgment at the sender.

    The first acknowledgment answers the packet that opens. There is one place for news, whether they travel or not,
    since all that sending takes is compiled into it.
    """
    row = s.flow[flow]
    row[F_LIVE] -= 1
    sequence, marked = (what >> 3) & NO_SEQUENCE, (what & MARKED) != 0
    if (what & 3) == KIND_DATA:
        again = (what & AGAIN) != 0
        if marked:
            row[F_MARKS] += 1
            if s.count[PACED] == 1:
                marked = _notice_is_due(s, flow, now)
        if s.count[LOSSY] == 1:
            sequence = land(s, flow, sequence)
        else:
            row[F_ARRIVED] += 1
        if row[F_ARRIVED] == row[F_PACKETS] and row[F_STATE] == OPEN:
            row[F_STATE] = CLOSED
            log_connection(s, flow, now)
            connection_done(s, row[F_STREAM], now)
        expected = row[F_EXPECTED]
        news = row[F_STATE] == OPEN
        if s.count[ACKS_TRAVEL] == 1:
            news = False
            _send_ack(s, flow, sequence, again, marked, now)
    else:
        again = (what & 3) == KIND_ACK_AGAIN
        expected = (what >> 33) & NO_SEQUENCE
        news = row[F_STATE] == OPEN and (sequence != NO_SEQUENCE or s.count[GO_BACK_N] == 1)
        if row[F_STATE] == OPENING:
            _begin_to_send(s, flow, now)
    if news:
        _acknowledged(s, flow, sequence, expected, again, marked, now)
    free_if_done(s, flow)


@compiled
def _notice_is_due(s: State, flow: int, now: int) -> bool:
    """Tell the sender of marks at most once in the interval of DCQCN's notification point."""
    if now < s.flow[flow, F_CNP_AT]:
        return False
    s.flow[flow, F_CNP_AT] = now + int(s.constant[C_NOTICE])
    return True


@compiled
def _send_ack(s: State, flow: int, sequence: int, again: bool, marked: bool, now: int) -> None:
    row = s.flow[flow]
    answer = (KIND_ACK_AGAIN if again else KIND_ACK) | (MARKED if marked else 0)
    answer |= (sequence << 3) | (row[F_EXPECTED] << 33)
    if s.count[HOPWISE] == 1:
        link = place = next_link(s, start_of(s, flow, answer), flow, answer)
    else:
        place = s.path_start[s.path_reverse[row[F_PATH]]]
        link = s.path_link[place]
    s.count[SENT] += 1
    row[F_LIVE] += 1
    if not enqueue(s, link, (flow << 32) | place, answer, now):
        row[F_LIVE] -= 1


@inlined
def _acknowledged(
    s: State, flow: int, sequence: int, expected: int, again: bool, marked: bool, now: int
) -> None:
    """Let the sender learn that a packet is in, and send more."""
    row = s.flow[flow]
    if marked and s.count[PACED] == 1:
        noticed(s, flow, now)
    if s.count[LOSSY] == 1:
        if learn(s, flow, sequence, expected, again, marked, now) and s.count[PACED] == 0:
            send_one(
                s, flow, now
            )  # the first that was lost goes at once, before the window allows it (RFC 6675)
    else:
        row[F_PIPE] -= 1
        row[F_ACKED] += 1
        if row[F_TIMED] == sequence:
            measure(s, flow, now - row[F_TIMED_AT])
            row[F_TIMED] = -1
        if s.count[PACED] == 0:
            acked(s, flow, marked, now)
    go_on(s, flow, now)


@spliced
def retransmit(s: State, flow: int, now: int) -> None:
    """Handle the flow's timer: nothing was heard for a timeout, so all that is under way is lost."""
    row = s.flow[flow]
    if row[F_TIMER] != now or (row[F_STATE] != OPENING and row[F_STATE] != OPEN):
        return
    row[F_TIMER] = -1
    if row[F_DEADLINE] > now:
        set_timer(s, flow, row[F_DEADLINE])
        return
    if row[F_STATE] == OPEN and row[F_PIPE] == 0:  # it waits for its turn to send; then it will wait for news
        return
    if row[F_LEAVES] > now:  # it cannot have been answered, for it waits in the server's own interface
        wait_for_news(s, flow, row[F_LEAVES])
        return
    row[F_TIMEOUTS] += 1
    row[F_BACKOFF] += 1
    s.count[TIMEOUTS] += 1
    if row[F_TIMEOUTS] > MOST_TIMEOUTS:
        s.count[STUCK_FLOW] = flow
    _take_next_path(s, flow)
    if row[F_STATE] == OPEN:
        give_up(s, flow)
        timed_out(s, flow, now)
    wait_for_news(s, flow, now)
    if row[F_STATE] == OPEN:
        begin(s, flow, now)
        return
    row[F_RESENT] += 1
    s.count[RESENT] += 1
    launch_one(s, flow, KIND_OPEN, now)


@compiled
def _take_next_path(s: State, flow: int) -> None:
    """Try another path after a timeout, where the pair has several."""
    row = s.flow[flow]
    first, last = s.pair_first[row[F_PAIR]], s.pair_first[row[F_PAIR] + 1]
    row[F_PATH] = first + (row[F_PATH] + 1 - first) % (last - first)
    row[F_PLACE] = s.path_start[row[F_PATH]]
