"""Connections: opened for every transfer, and for every member and round of a collective; closed when all is in.

A connection is opened with a packet of one byte; when it has arrived, the sender may send its first window. A
packet that arrives is acknowledged, at once or by a packet on the way back. Where packets can be lost, ``board``
knows the fate of each: one is taken as lost when some later ones have been acknowledged, or after a timeout.
"""

from topoopt.simulate.packet.kernel.compiled import compiled, inlined
from topoopt.simulate.packet.kernel.draws import uniform
from topoopt.simulate.packet.kernel.heaps import push_timer
from topoopt.simulate.packet.kernel.layout import (
    ACKS_TRAVEL,
    BOARD_USED,
    C_PACED,
    C_REORDER,
    C_TIMEOUT_FIRST,
    C_TIMEOUT_MIN,
    CLOSED,
    CONNECTIONS,
    CWND,
    F_ACKED,
    F_ARRIVED,
    F_BOARD,
    F_BOARD_CLASS,
    F_CNP_AT,
    F_CONNECTION,
    F_DEADLINE,
    F_DST,
    F_EXPECTED,
    F_HIGHEST,
    F_LIVE,
    F_LOST,
    F_LOST_FROM,
    F_LOWEST,
    F_MARKS,
    F_NEXT,
    F_PACE,
    F_PACKETS,
    F_PAIR,
    F_PATH,
    F_PIPE,
    F_PLACE,
    F_RECOVER,
    F_RESENT,
    F_SCANNED,
    F_SENT,
    F_SRC,
    F_STARTED,
    F_STATE,
    F_STREAM,
    F_TIMED,
    F_TIMED_AT,
    F_TIMEOUTS,
    F_TIMER,
    FLOWS_DONE,
    FLOWS_USED,
    FLYING,
    FLYING_AGAIN,
    FREE,
    FREE_FLOW,
    HOPWISE,
    KIND_ACK,
    KIND_DATA,
    KIND_OPEN,
    KIND_SHIFT,
    KNOWN,
    L_FINISH,
    L_MARKS,
    L_PACKETS,
    L_PAIR,
    L_PATH,
    L_RESENT,
    L_START,
    L_STREAM,
    LANDED,
    LOGGED,
    LOSSY,
    MARKED,
    MISSING,
    OPEN,
    OPEN_FLOWS,
    OPENING,
    PACE,
    QUEUED,
    RESENT,
    RETRANSMIT,
    RTTVAR,
    S_CURSOR,
    S_EDGE_FIRST,
    S_PACKETS,
    SEED,
    SENT,
    SERIAL,
    SPRAY,
    SRTT,
    STUCK_FLOW,
    TIMEOUTS,
    UNSENT,
    State,
)
from topoopt.simulate.packet.kernel.links import enqueue
from topoopt.simulate.packet.kernel.tasks import connection_done
from topoopt.simulate.packet.kernel.transports import acked, gap_ps, lost, opened, timed_out
from topoopt.simulate.packet.kernel.ways import next_link, start_of

BURST = 256
"""Packets that one acknowledgment may release."""

MOST_TIMEOUTS = 24
"""Timeouts in a row, each twice the one before up to 2^6 times the first, after which a connection is stuck."""

MOST_BACKOFF = 6
NIC_PACKETS = 4
"""A sender that paces waits while its network interface holds as many packets."""


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
    row[F_PACE] = -1
    row[F_STATE] = OPENING
    row[F_STARTED] = now
    row[F_CONNECTION] = number
    row[F_BOARD] = board
    row[F_BOARD_CLASS] = board_class
    s.count[OPEN_FLOWS] += 1
    opened(s, flow)
    if s.count[LOSSY] == 1:
        _take_board(s, flow)
        _await(s, flow, now)
    _launch(s, flow, KIND_OPEN, now)


@compiled
def _take_board(s: State, flow: int) -> None:
    """Get a byte for each packet; a row keeps its board for the connections after it."""
    packets = s.flow[flow, F_PACKETS]
    kind = 3
    while (1 << kind) < packets:
        kind += 1
    if s.flow[flow, F_BOARD_CLASS] < kind:
        s.flow[flow, F_BOARD] = s.count[BOARD_USED]
        s.flow[flow, F_BOARD_CLASS] = kind
        s.count[BOARD_USED] += 1 << kind
    first = s.flow[flow, F_BOARD]
    s.board[first : first + packets] = UNSENT


@inlined
def _launch(s: State, flow: int, what: int, now: int) -> None:
    """Put a packet onto the first link of the flow's path."""
    row = s.flow[flow]
    place = row[F_PLACE]
    if s.count[SPRAY] == 1 and (what & 3) == KIND_DATA:
        place = s.path_start[drawn_path(s, row[F_PAIR], s.count[SENT])]
    link = s.path_link[place]
    if s.count[HOPWISE] == 1:
        link = place = next_link(s, start_of(s, flow, what), flow, what)
    s.count[SENT] += 1
    row[F_LIVE] += 1
    if not enqueue(s, link, (flow << 32) | place, what, now):
        row[F_LIVE] -= 1


@inlined
def send(s: State, flow: int, now: int) -> None:
    """Send what the window allows, lost packets first."""
    row = s.flow[flow]
    room = min(int(s.window[flow, CWND]) - row[F_PIPE], BURST)
    if room <= 0:
        return
    if s.count[LOSSY] == 1:
        while room > 0 and row[F_LOST] + row[F_PACKETS] - row[F_SENT] > 0:
            _send_one(s, flow, now)
            room -= 1
        return
    room = min(room, row[F_PACKETS] - row[F_SENT])
    for _ in range(room):
        what = row[F_SENT] << 3
        row[F_SENT] += 1
        row[F_PIPE] += 1
        _launch(s, flow, what, now)


@compiled
def _send_one(s: State, flow: int, now: int) -> None:
    """Send the first lost packet, or the next new one."""
    row = s.flow[flow]
    if row[F_LOST] > 0:
        sequence = row[F_LOST_FROM]
        while s.board[row[F_BOARD] + sequence] != MISSING:
            sequence += 1
        row[F_LOST_FROM] = sequence + 1
        row[F_LOST] -= 1
        row[F_RESENT] += 1
        s.count[RESENT] += 1
        fate = FLYING_AGAIN
        if row[F_TIMED] == sequence:
            row[F_TIMED] = -1
    else:
        sequence = row[F_SENT]
        row[F_SENT] += 1
        fate = FLYING
        if row[F_TIMED] < 0:
            row[F_TIMED] = sequence
            row[F_TIMED_AT] = now
    if s.count[LOSSY] == 1:
        s.board[row[F_BOARD] + sequence] = fate
    row[F_PIPE] += 1
    _launch(s, flow, sequence << 3, now)


@compiled
def pace(s: State, flow: int, now: int) -> None:
    """Send one packet and set the time of the next, of a transport that paces."""
    row = s.flow[flow]
    if row[F_PACE] != now or row[F_STATE] != OPEN:
        return
    row[F_PACE] = -1
    if row[F_LOST] + row[F_PACKETS] - row[F_SENT] == 0:
        return
    first = s.path_link[row[F_PLACE]]
    if s.count[HOPWISE] == 1:
        first = next_link(s, row[F_SRC], flow, KIND_DATA)
    serial = s.link[first, SERIAL]
    if s.link[first, QUEUED] >= NIC_PACKETS * 8936 and s.count[SPRAY] == 0:
        wait = serial
    else:
        _send_one(s, flow, now)
        wait = gap_ps(s, flow, now)
    _pace_at(s, flow, now + max(wait, 1))


@compiled
def _pace_at(s: State, flow: int, when: int) -> None:
    s.flow[flow, F_PACE] = when
    push_timer(s, when, (PACE << KIND_SHIFT) | flow)


@compiled
def go_on(s: State, flow: int, now: int) -> None:
    """Send more: as the window allows, or at the flow's own pace."""
    if s.constant[C_PACED] == 0.0:
        send(s, flow, now)
    elif s.flow[flow, F_PACE] < 0 and s.flow[flow, F_LOST] + s.flow[flow, F_PACKETS] > s.flow[flow, F_SENT]:
        _pace_at(s, flow, now)


@compiled
def arrived_open(s: State, flow: int, now: int) -> None:
    """Take the packet that opens a connection: the sender may send."""
    row = s.flow[flow]
    row[F_LIVE] -= 1
    if row[F_STATE] != OPENING:  # a second one, sent after a timeout
        _free_if_done(s, flow)
        return
    row[F_STATE] = OPEN
    row[F_TIMEOUTS] = 0
    if s.count[LOSSY] == 1:
        _await(s, flow, now)
    go_on(s, flow, now)


@inlined
def arrived_data(s: State, flow: int, what: int, now: int) -> None:
    """Take a data packet at the receiver and acknowledge it."""
    row = s.flow[flow]
    row[F_LIVE] -= 1
    marked = (what & MARKED) != 0
    if marked:
        row[F_MARKS] += 1
        if s.constant[C_PACED] != 0.0:
            marked = _congestion_notice_is_due(s, flow, now)
    if s.count[LOSSY] == 1:
        _land(s, flow, (what >> 3) & 0x3FFFFFFF)
    else:
        row[F_ARRIVED] += 1
    if row[F_ARRIVED] == row[F_PACKETS] and row[F_STATE] == OPEN:
        row[F_STATE] = CLOSED
        _log(s, flow, now)
        connection_done(s, row[F_STREAM], now)
    if s.count[ACKS_TRAVEL] == 1:
        _send_ack(s, flow, what, marked, now)
    elif row[F_STATE] == CLOSED:
        row[F_ACKED] += 1
    else:
        _acknowledged(s, flow, (what >> 3) & 0x3FFFFFFF, row[F_EXPECTED], marked, now)
    _free_if_done(s, flow)


@compiled
def _congestion_notice_is_due(s: State, flow: int, now: int) -> bool:
    """Tell the sender of marks at most once in the interval of DCQCN's notification point."""
    if now < s.flow[flow, F_CNP_AT]:
        return False
    s.flow[flow, F_CNP_AT] = now + int(s.constant[C_PACED])
    return True


@compiled
def _send_ack(s: State, flow: int, what: int, marked: bool, now: int) -> None:
    row = s.flow[flow]
    sequence = (what >> 3) & 0x3FFFFFFF
    place = s.path_start[s.path_reverse[row[F_PATH]]]
    answer = KIND_ACK | (MARKED if marked else 0) | (sequence << 3) | (row[F_EXPECTED] << 33)
    link = s.path_link[place]
    if s.count[HOPWISE] == 1:
        link = place = next_link(s, start_of(s, flow, answer), flow, answer)
    s.count[SENT] += 1
    row[F_LIVE] += 1
    if not enqueue(s, link, (flow << 32) | place, answer, now):
        row[F_LIVE] -= 1


@compiled
def arrived_ack(s: State, flow: int, what: int, now: int) -> None:
    """Take an acknowledgment at the sender."""
    s.flow[flow, F_LIVE] -= 1
    if s.flow[flow, F_STATE] == OPEN:
        _acknowledged(s, flow, (what >> 3) & 0x3FFFFFFF, (what >> 33) & 0x3FFFFFFF, (what & MARKED) != 0, now)
    _free_if_done(s, flow)


@compiled
def _land(s: State, flow: int, sequence: int) -> None:
    """Note at the receiver that a packet is in."""
    row, first = s.flow[flow], s.flow[flow, F_BOARD]
    fate = s.board[first + sequence]
    if fate == LANDED or fate == KNOWN:
        return
    row[F_ARRIVED] += 1
    if fate == MISSING:  # it was not lost, only late; the sender need not send it again
        row[F_LOST] -= 1
        row[F_ACKED] += 1
        s.board[first + sequence] = KNOWN
    else:
        s.board[first + sequence] = LANDED
    while row[F_EXPECTED] < row[F_PACKETS]:
        fate = s.board[first + row[F_EXPECTED]]
        if fate != LANDED and fate != KNOWN:
            break
        row[F_EXPECTED] += 1


@inlined
def _acknowledged(s: State, flow: int, sequence: int, expected: int, marked: bool, now: int) -> None:
    """Let the sender learn that a packet is in, and send more."""
    row = s.flow[flow]
    if s.count[LOSSY] == 0:
        row[F_PIPE] -= 1
        row[F_ACKED] += 1
        acked(s, flow, marked, now)
    else:
        _learn(s, flow, sequence, expected, marked, now)
    go_on(s, flow, now)


@compiled
def _learn(s: State, flow: int, sequence: int, expected: int, marked: bool, now: int) -> None:
    """Note what is in, find what must be lost, and let the transport react."""
    row, first = s.flow[flow], s.flow[flow, F_BOARD]
    if row[F_TIMED] >= 0 and row[F_TIMED] == sequence:
        _measure(s, flow, float(now - row[F_TIMED_AT]))
        row[F_TIMED] = -1
    while row[F_LOWEST] < expected:
        _know(s, flow, row[F_LOWEST], marked and row[F_LOWEST] == sequence, now)
        row[F_LOWEST] += 1
    if sequence >= expected:
        _know(s, flow, sequence, marked, now)
    row[F_HIGHEST] = max(row[F_HIGHEST], sequence)
    reorder = int(s.constant[C_REORDER])
    cut = False
    while row[F_SCANNED] + reorder <= row[F_HIGHEST]:
        if s.board[first + row[F_SCANNED]] == FLYING:
            s.board[first + row[F_SCANNED]] = MISSING
            row[F_LOST] += 1
            row[F_LOST_FROM] = min(row[F_LOST_FROM], row[F_SCANNED])
            row[F_PIPE] -= 1
            cut = cut or row[F_SCANNED] >= row[F_RECOVER]
        row[F_SCANNED] += 1
    if cut:
        row[F_RECOVER] = row[F_SENT]
        lost(s, flow, now)


@compiled
def _know(s: State, flow: int, sequence: int, marked: bool, now: int) -> None:
    row, at = s.flow[flow], s.flow[flow, F_BOARD] + sequence
    if s.board[at] != LANDED:
        return
    s.board[at] = KNOWN
    row[F_PIPE] -= 1
    row[F_ACKED] += 1
    row[F_TIMEOUTS] = 0
    acked(s, flow, marked, now)
    row[F_DEADLINE] = now + _timeout_ps(s, flow)


@compiled
def _measure(s: State, flow: int, sample_ps: float) -> None:
    """Smooth the round-trip time and its variation as RFC 6298 does."""
    w = s.window
    if w[flow, SRTT] == 0.0:
        w[flow, SRTT] = sample_ps
        w[flow, RTTVAR] = sample_ps / 2.0
    else:
        w[flow, RTTVAR] += (abs(w[flow, SRTT] - sample_ps) - w[flow, RTTVAR]) / 4.0
        w[flow, SRTT] += (sample_ps - w[flow, SRTT]) / 8.0


@compiled
def _timeout_ps(s: State, flow: int) -> int:
    """Return the retransmission timeout (RFC 6298), with the backoff of the timeouts in a row."""
    timeout = s.constant[C_TIMEOUT_FIRST]
    if s.window[flow, SRTT] > 0.0:
        timeout = max(s.constant[C_TIMEOUT_MIN], s.window[flow, SRTT] + 4.0 * s.window[flow, RTTVAR])
    return int(timeout) << min(s.flow[flow, F_TIMEOUTS], MOST_BACKOFF)


@compiled
def _await(s: State, flow: int, now: int) -> None:
    """Set the flow's deadline, and its timer if none fires before."""
    deadline = now + _timeout_ps(s, flow)
    s.flow[flow, F_DEADLINE] = deadline
    if s.flow[flow, F_TIMER] < 0 or s.flow[flow, F_TIMER] > deadline:
        s.flow[flow, F_TIMER] = deadline
        push_timer(s, deadline, (RETRANSMIT << KIND_SHIFT) | flow)


@compiled
def retransmit(s: State, flow: int, now: int) -> None:
    """Handle the flow's timer: nothing was heard for a timeout, so all that is under way is lost."""
    row = s.flow[flow]
    if row[F_TIMER] != now or row[F_STATE] == CLOSED or row[F_STATE] == FREE:
        return
    row[F_TIMER] = -1
    if row[F_DEADLINE] > now:
        row[F_TIMER] = row[F_DEADLINE]
        push_timer(s, row[F_DEADLINE], (RETRANSMIT << KIND_SHIFT) | flow)
        return
    row[F_TIMEOUTS] += 1
    s.count[TIMEOUTS] += 1
    if row[F_TIMEOUTS] > MOST_TIMEOUTS:
        s.count[STUCK_FLOW] = flow
    _take_next_path(s, flow)
    if row[F_STATE] == OPENING:
        _await(s, flow, now)
        row[F_RESENT] += 1
        s.count[RESENT] += 1
        _launch(s, flow, KIND_OPEN, now)
        return
    for sequence in range(row[F_LOWEST], row[F_SENT]):
        at = row[F_BOARD] + sequence
        if s.board[at] == LANDED:  # its acknowledgment was lost; the next one tells
            s.board[at] = KNOWN
            row[F_ACKED] += 1
        elif s.board[at] == FLYING or s.board[at] == FLYING_AGAIN:
            s.board[at] = MISSING
            row[F_LOST] += 1
    row[F_PIPE] = 0
    row[F_LOST_FROM] = row[F_LOWEST]
    row[F_RECOVER] = row[F_SENT]
    row[F_SCANNED] = row[F_SENT]
    row[F_TIMED] = -1
    timed_out(s, flow, now)
    _await(s, flow, now)
    go_on(s, flow, now)


@compiled
def _take_next_path(s: State, flow: int) -> None:
    """Try another path after a timeout, where the pair has several."""
    row = s.flow[flow]
    first, last = s.pair_first[row[F_PAIR]], s.pair_first[row[F_PAIR] + 1]
    row[F_PATH] = first + (row[F_PATH] + 1 - first) % (last - first)
    row[F_PLACE] = s.path_start[row[F_PATH]]


@compiled
def packet_lost(s: State, flow: int) -> None:
    """Note that the network has dropped a packet of the flow; who has to learn it, learns it by the gap."""
    s.flow[flow, F_LIVE] -= 1
    _free_if_done(s, flow)


@inlined
def _free_if_done(s: State, flow: int) -> None:
    """Give the row back when everything is in and nothing of it is on its way."""
    row = s.flow[flow]
    if row[F_STATE] == CLOSED and row[F_LIVE] == 0:
        row[F_STATE] = FREE
        row[F_NEXT] = s.count[FREE_FLOW]
        s.count[FREE_FLOW] = flow
        s.count[FLOWS_DONE] += 1
        s.count[OPEN_FLOWS] -= 1


@compiled
def _log(s: State, flow: int, now: int) -> None:
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
