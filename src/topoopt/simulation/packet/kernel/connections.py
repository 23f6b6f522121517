"""Connections: opened for every transfer, and for every member and round of a collective; closed when all is in.

A connection is opened with a packet of one byte; when it has arrived, the sender may send, as far as its window
allows, or at its own pace. Kept connections (``accounts.py``) need not be opened again. A packet is acknowledged
on arrival, at once or by a packet on the return path; then the opening packet is acknowledged likewise before the
sender may send.

Kept connections hand over their state to later ones of the job, as sockets that stay open over iterations do.

A transfer between two servers continues where the previous one ended: with its window, its threshold and its
round-trip time, and without a packet that opens. A sender that was silent for a timeout begins with a small window
again (RFC 5681, section 4.1), and remembers three quarters of the one it had as its threshold (RFC 2861). Where
connections are weighed, the account also has the share of an iteration received.
"""

from topoopt.base.kernel import compiled, inlined, spliced
from topoopt.simulation.packet.kernel.flows import free_if_done, log_connection
from topoopt.simulation.packet.kernel.layout import (
    AGAIN,
    CLOSED,
    KEPT_AND_WEIGHED,
    KIND_ACK,
    KIND_ACK_AGAIN,
    KIND_DATA,
    KIND_OPEN,
    MARKED,
    NO_SEQUENCE,
    OPEN,
    OPENING,
    PACE_IDLE,
    WINDOW_FIELDS,
    Account,
    Constant,
    Count,
    Flow,
    State,
    Stream,
    Window,
)
from topoopt.simulation.packet.kernel.links import enqueue
from topoopt.simulation.packet.kernel.mltcp_account import account_of, note
from topoopt.simulation.packet.kernel.recovery import (
    give_up,
    land,
    learn,
    measure,
    set_timer,
    take_board,
    wait_for_news,
)
from topoopt.simulation.packet.kernel.sending import (
    drawn_path,
    go_on_pacing,
    launch_one,
    next_link,
    send,
    send_one,
    start_of,
)
from topoopt.simulation.packet.kernel.tasks import connection_done
from topoopt.simulation.packet.kernel.transports import acked, noticed, opened, resumed, timed_out

FIRST_KEPT = len(Account)
MOST_TIMEOUTS = 24
"""Timeouts in a row after which a connection is stuck."""


@compiled
def open_connection(s: State, stream: int, now: int) -> None:
    """Open the next connection of a stream: a packet of one byte goes ahead."""
    edge = s.stream[stream, Stream.EDGE_FIRST] + s.stream[stream, Stream.CURSOR]
    s.stream[stream, Stream.CURSOR] += 1
    flow = s.count[Count.FREE_FLOW]
    if flow >= 0:
        s.count[Count.FREE_FLOW] = s.flow[flow, Flow.NEXT]
    else:
        flow = s.count[Count.FLOWS_USED]
        s.count[Count.FLOWS_USED] = flow + 1
        s.flow[flow, Flow.BOARD_CLASS] = -1
    row = s.flow[flow]
    board, board_class = row[Flow.BOARD], row[Flow.BOARD_CLASS]
    row[:] = 0
    pair = s.edge_pair[edge]
    number = s.count[Count.CONNECTIONS]
    s.count[Count.CONNECTIONS] = number + 1
    path = drawn_path(s, pair, number)
    row[Flow.STREAM] = stream
    row[Flow.PAIR] = pair
    row[Flow.PATH] = path
    row[Flow.PLACE] = s.path_start[path]
    row[Flow.SRC] = s.pair_end[pair, 0]
    row[Flow.DST] = s.pair_end[pair, 1]
    row[Flow.PACKETS] = s.stream[stream, Stream.PACKETS]
    row[Flow.HIGHEST] = -1
    row[Flow.TIMED] = -1
    row[Flow.TIMER] = -1
    row[Flow.PACE] = PACE_IDLE
    row[Flow.STATE] = OPENING
    row[Flow.STARTED] = now
    row[Flow.TIMED_AT] = now
    row[Flow.CONNECTION] = number
    row[Flow.BOARD] = board
    row[Flow.BOARD_CLASS] = board_class
    s.count[Count.OPEN_FLOWS] += 1
    opened(s, flow, now)
    if s.count[Count.LOSSY] == 1:
        if s.count[Count.GO_BACK_N] == 0:
            take_board(s, flow)
        wait_for_news(s, flow, now)
    if s.count[Count.KEEPS] > 0 and take_up(s, flow, now):
        row[Flow.TIMEOUTS] = 1  # there is no round trip to measure
        _begin_to_send(s, flow, now)
    else:
        launch_one(s, flow, KIND_OPEN, now)


@inlined
def go_on(s: State, flow: int, now: int) -> None:
    """Send more packets: as the window allows, or at the flow's own pace."""
    if s.count[Count.PACED] == 0:
        send(s, flow, now)
    elif s.flow[flow, Flow.PACE] == PACE_IDLE:
        go_on_pacing(s, flow, now)


@compiled
def begin(s: State, flow: int, now: int) -> None:
    """Send the initial window, or that after a timeout."""
    go_on(s, flow, now)


@spliced
def arrived_open(s: State, flow: int, now: int) -> None:
    """Handle the packet that opens a connection: allow the sender to send, or notify it."""
    s.flow[flow, Flow.LIVE] -= 1
    if s.count[Count.ACKS_TRAVEL] == 1 and s.flow[flow, Flow.STATE] != CLOSED:
        _send_ack(s, flow, NO_SEQUENCE, False, False, now)
    elif s.flow[flow, Flow.STATE] == OPENING:
        _begin_to_send(s, flow, now)
    free_if_done(s, flow)  # a second one, sent after a timeout, may be the last of its connection


@compiled
def _begin_to_send(s: State, flow: int, now: int) -> None:
    row = s.flow[flow]
    row[Flow.STATE] = OPEN
    if row[Flow.TIMEOUTS] == 0:
        measure(s, flow, now - row[Flow.TIMED_AT])
    row[Flow.TIMEOUTS] = 0
    if s.count[Count.LOSSY] == 1:
        wait_for_news(s, flow, now)
    begin(s, flow, now)


@inlined
def arrived(s: State, flow: int, what: int, now: int) -> None:
    """Handle data at the receiver, and acknowledge it; or an acknowledgment at the sender.

    The first acknowledgment answers the packet that opens. There is one place for news, whether they travel or not,
    since all that sending takes is compiled into it.
    """
    row = s.flow[flow]
    row[Flow.LIVE] -= 1
    sequence, marked = (what >> 3) & NO_SEQUENCE, (what & MARKED) != 0
    if (what & 3) == KIND_DATA:
        again = (what & AGAIN) != 0
        if marked:
            row[Flow.MARKS] += 1
            if s.count[Count.PACED] == 1:
                marked = _notice_is_due(s, flow, now)
        if s.count[Count.LOSSY] == 1:
            sequence = land(s, flow, sequence)
        else:
            row[Flow.ARRIVED] += 1
        if row[Flow.ARRIVED] == row[Flow.PACKETS] and row[Flow.STATE] == OPEN:
            row[Flow.STATE] = CLOSED
            s.stream[row[Flow.STREAM], Stream.MARKS] += row[Flow.MARKS]
            log_connection(s, flow, now)
            if s.count[Count.KEEPS] > 0:
                hand_on(s, flow, now)
            connection_done(s, row[Flow.STREAM], now)
        expected = row[Flow.EXPECTED]
        news = row[Flow.STATE] == OPEN
        if s.count[Count.ACKS_TRAVEL] == 1:
            news = False
            _send_ack(s, flow, sequence, again, marked, now)
    else:
        again = (what & 3) == KIND_ACK_AGAIN
        expected = (what >> 33) & NO_SEQUENCE
        news = row[Flow.STATE] == OPEN and (sequence != NO_SEQUENCE or s.count[Count.GO_BACK_N] == 1)
        if row[Flow.STATE] == OPENING:
            _begin_to_send(s, flow, now)
    if news:
        _acknowledged(s, flow, sequence, expected, again, marked, now)
    free_if_done(s, flow)


@compiled
def _notice_is_due(s: State, flow: int, now: int) -> bool:
    """Notify the sender of marks at most once in the interval of DCQCN's notification point."""
    if now < s.flow[flow, Flow.CNP_AT]:
        return False
    s.flow[flow, Flow.CNP_AT] = now + int(s.constant[Constant.NOTICE])
    return True


@compiled
def _send_ack(s: State, flow: int, sequence: int, again: bool, marked: bool, now: int) -> None:
    row = s.flow[flow]
    answer = (KIND_ACK_AGAIN if again else KIND_ACK) | (MARKED if marked else 0)
    answer |= (sequence << 3) | (row[Flow.EXPECTED] << 33)
    if s.count[Count.HOPWISE] == 1:
        link = place = next_link(s, start_of(s, flow, answer), flow, answer)
    else:
        place = s.path_start[s.path_reverse[row[Flow.PATH]]]
        link = s.path_link[place]
    s.count[Count.SENT] += 1
    row[Flow.LIVE] += 1
    if not enqueue(s, link, (flow << 32) | place, answer, now):
        row[Flow.LIVE] -= 1


@inlined
def _acknowledged(
    s: State, flow: int, sequence: int, expected: int, again: bool, marked: bool, now: int
) -> None:
    """Handle the arrival of a packet at the sender, and send more."""
    row = s.flow[flow]
    if marked and s.count[Count.PACED] == 1:
        noticed(s, flow, now)
    if s.count[Count.LOSSY] == 1:
        if learn(s, flow, sequence, expected, again, marked, now) and s.count[Count.PACED] == 0:
            send_one(
                s, flow, now
            )  # the first that was lost goes at once, before the window allows it (RFC 6675)
    else:
        row[Flow.PIPE] -= 1
        row[Flow.ACKED] += 1
        if s.count[Count.KEEPS] == KEPT_AND_WEIGHED:
            note(s, flow, 1.0, now)
        if row[Flow.TIMED] == sequence:
            measure(s, flow, now - row[Flow.TIMED_AT])
            row[Flow.TIMED] = -1
        if s.count[Count.PACED] == 0:
            acked(s, flow, marked, now)
    go_on(s, flow, now)


@spliced
def retransmit(s: State, flow: int, now: int) -> None:
    """Handle the flow's timer: without news for a timeout, everything in flight counts as lost."""
    row = s.flow[flow]
    if row[Flow.TIMER] != now or (row[Flow.STATE] != OPENING and row[Flow.STATE] != OPEN):
        return
    row[Flow.TIMER] = -1
    if row[Flow.DEADLINE] > now:
        set_timer(s, flow, row[Flow.DEADLINE])
        return
    if (
        row[Flow.STATE] == OPEN and row[Flow.PIPE] == 0
    ):  # it waits for its turn to send; then it will wait for news
        return
    if row[Flow.LEAVES] > now:  # it cannot have been answered, for it waits in the server's own interface
        wait_for_news(s, flow, row[Flow.LEAVES])
        return
    row[Flow.TIMEOUTS] += 1
    row[Flow.BACKOFF] += 1
    s.count[Count.TIMEOUTS] += 1
    if row[Flow.TIMEOUTS] > MOST_TIMEOUTS:
        s.count[Count.STUCK_FLOW] = flow
    _take_next_path(s, flow)
    if row[Flow.STATE] == OPEN:
        give_up(s, flow)
        timed_out(s, flow, now)
    wait_for_news(s, flow, now)
    if row[Flow.STATE] == OPEN:
        begin(s, flow, now)
        return
    row[Flow.RESENT] += 1
    s.count[Count.RESENT] += 1
    launch_one(s, flow, KIND_OPEN, now)


@compiled
def _take_next_path(s: State, flow: int) -> None:
    """Try another path after a timeout, where the pair has several."""
    row = s.flow[flow]
    first, last = s.pair_first[row[Flow.PAIR]], s.pair_first[row[Flow.PAIR] + 1]
    row[Flow.PATH] = first + (row[Flow.PATH] + 1 - first) % (last - first)
    row[Flow.PLACE] = s.path_start[row[Flow.PATH]]


@spliced
def take_up(s: State, flow: int, now: int) -> bool:
    """Continue a connection where the previous one ended; return whether there was one."""
    here, a, w = account_of(s, flow), s.constant, s.window
    used = a[here + Account.USED] > 0.0
    if used:
        for field in range(WINDOW_FIELDS):
            w[flow, field] = a[here + FIRST_KEPT + field]
        timeout = max(a[Constant.TIMEOUT_MIN], w[flow, Window.SRTT] + 4.0 * w[flow, Window.RTTVAR])
        if float(now) - a[here + Account.LEFT_AT] > timeout:
            w[flow, Window.SSTHRESH] = max(w[flow, Window.SSTHRESH], 0.75 * w[flow, Window.CWND])
            w[flow, Window.CWND] = min(w[flow, Window.CWND], a[Constant.FIRST_WINDOW])
        resumed(s, flow, now)
    if s.count[Count.KEEPS] == KEPT_AND_WEIGHED:
        note(s, flow, 0.0, now)
    return used


@spliced
def hand_on(s: State, flow: int, now: int) -> None:
    """Store the state of a connection whose packets have all arrived."""
    here, a = account_of(s, flow), s.constant
    if s.count[Count.KEEPS] == KEPT_AND_WEIGHED:
        note(s, flow, float(s.flow[flow, Flow.PACKETS] - s.flow[flow, Flow.ACKED]), now)
    a[here + Account.USED] = 1.0
    a[here + Account.LEFT_AT] = float(now)
    for field in range(WINDOW_FIELDS):
        a[here + FIRST_KEPT + field] = s.window[flow, field]
