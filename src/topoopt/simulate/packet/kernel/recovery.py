"""What was lost and must be sent again, where packets can be lost.

``selective``: the receiver keeps whatever comes and says so; a packet is taken as lost when some later ones have been
acknowledged (RFC 6675), or after a timeout. ``board`` knows the fate of each packet. ``go-back-n``: the receiver
refuses what is out of order and says so once for a gap; the sender goes back to there.
"""

from topoopt.kernel import compiled
from topoopt.simulate.packet.kernel.layout import (
    BOARD_USED,
    C_REORDER,
    F_ACKED,
    F_ARRIVED,
    F_BOARD,
    F_BOARD_CLASS,
    F_EXPECTED,
    F_FURTHEST,
    F_HIGHEST,
    F_LOST,
    F_LOST_FROM,
    F_LOWEST,
    F_PACKETS,
    F_PIPE,
    F_RECOVER,
    F_RECOVERING,
    F_REFUSED,
    F_SCANNED,
    F_SENT,
    F_TIMED,
    F_TIMED_AGAIN,
    F_TIMED_AT,
    F_TIMEOUTS,
    FLYING,
    FLYING_AGAIN,
    GO_BACK_N,
    KNOWN,
    LANDED,
    MISSING,
    NO_SEQUENCE,
    PACED,
    UNSENT,
    State,
)
from topoopt.simulate.packet.kernel.timeouts import measure, wait_for_news
from topoopt.simulate.packet.kernel.transports import acked, lost


@compiled
def take_board(s: State, flow: int) -> None:
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


@compiled
def land(s: State, flow: int, sequence: int) -> int:
    """Note at the receiver that a packet is in; return the sequence number that its acknowledgment tells."""
    row, first = s.flow[flow], s.flow[flow, F_BOARD]
    if s.count[GO_BACK_N] == 1:
        return _land_in_order(s, flow, sequence)
    fate = s.board[first + sequence]
    if fate == LANDED or fate == KNOWN:
        return sequence
    row[F_ARRIVED] += 1
    s.board[first + sequence] = LANDED
    if fate == MISSING:  # it was not lost, only late; the sender need not send it again
        row[F_LOST] -= 1
        row[F_PIPE] += 1
    while row[F_EXPECTED] < row[F_PACKETS]:
        fate = s.board[first + row[F_EXPECTED]]
        if fate != LANDED and fate != KNOWN:
            break
        row[F_EXPECTED] += 1
    return sequence


@compiled
def _land_in_order(s: State, flow: int, sequence: int) -> int:
    """Take the packet that is expected; refuse a later one, and tell its sender so with the expected number."""
    row = s.flow[flow]
    if sequence == row[F_EXPECTED]:
        row[F_EXPECTED] += 1
        row[F_ARRIVED] += 1
        row[F_REFUSED] = 0
    elif sequence > row[F_EXPECTED] and row[F_REFUSED] == 0:
        row[F_REFUSED] = 1
        return row[F_EXPECTED]
    return NO_SEQUENCE


@compiled
def learn(s: State, flow: int, sequence: int, expected: int, again: bool, marked: bool, now: int) -> bool:
    """Note at the sender what is in, find what must be lost, and let the transport react; return whether it did."""
    row = s.flow[flow]
    if row[F_TIMED] >= 0:
        _measure(s, flow, sequence, expected, again, now)
    if expected >= row[F_RECOVER]:
        row[F_RECOVERING] = 0
    if s.count[GO_BACK_N] == 1:
        return _learn_in_order(s, flow, sequence, expected, marked, now)
    while row[F_LOWEST] < expected:
        _know(s, flow, row[F_LOWEST], marked and row[F_LOWEST] == sequence, now)
        row[F_LOWEST] += 1
    if sequence >= expected:
        _know(s, flow, sequence, marked, now)
    row[F_HIGHEST] = max(row[F_HIGHEST], sequence)
    first, reorder = row[F_BOARD], int(s.constant[C_REORDER])
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
        _cut(s, flow, now)
    return cut


@compiled
def _measure(s: State, flow: int, sequence: int, expected: int, again: bool, now: int) -> None:
    """Measure the round trip of the packet that is timed, unless another copy of it was acknowledged."""
    row = s.flow[flow]
    told = s.count[GO_BACK_N] == 0 and row[F_TIMED] == sequence
    if told or row[F_TIMED] < expected:
        if (again if told else False) == (row[F_TIMED_AGAIN] == 1):
            measure(s, flow, now - row[F_TIMED_AT])
        row[F_TIMED] = -1


@compiled
def _learn_in_order(s: State, flow: int, sequence: int, expected: int, marked: bool, now: int) -> bool:
    """Move the window up to what is expected, or go back to it."""
    row = s.flow[flow]
    for place in range(row[F_LOWEST], expected):
        _news(s, flow, marked and place == expected - 1, now)
    row[F_LOWEST] = max(row[F_LOWEST], expected)
    row[F_SENT] = max(row[F_SENT], row[F_LOWEST])
    cut = False
    if sequence == expected and expected >= row[F_LOWEST]:
        row[F_SENT] = expected
        row[F_TIMED] = -1
        cut = expected >= row[F_RECOVER]
        if cut:
            _cut(s, flow, now)
    row[F_PIPE] = row[F_SENT] - row[F_LOWEST]
    return cut


@compiled
def _know(s: State, flow: int, sequence: int, marked: bool, now: int) -> None:
    """Let the sender know that a packet is in."""
    at = s.flow[flow, F_BOARD] + sequence
    if s.board[at] == LANDED:
        s.board[at] = KNOWN
        s.flow[flow, F_PIPE] -= 1
        _news(s, flow, marked, now)


@compiled
def _news(s: State, flow: int, marked: bool, now: int) -> None:
    """One packet more is known to be in; a window does not grow while losses are made good."""
    row = s.flow[flow]
    row[F_ACKED] += 1
    row[F_TIMEOUTS] = 0
    if row[F_RECOVERING] == 0 and s.count[PACED] == 0:
        acked(s, flow, marked, now)
    wait_for_news(s, flow, now)


@compiled
def _cut(s: State, flow: int, now: int) -> None:
    """React to losses, once for everything that was under way when the first was found."""
    row = s.flow[flow]
    row[F_RECOVER] = max(row[F_SENT], row[F_FURTHEST])
    row[F_RECOVERING] = 1
    lost(s, flow, now)


@compiled
def give_up(s: State, flow: int) -> None:
    """Take everything as lost that is under way: nothing was heard for a timeout."""
    row = s.flow[flow]
    row[F_PIPE] = 0
    row[F_TIMED] = -1
    row[F_RECOVER] = max(row[F_SENT], row[F_FURTHEST])
    row[F_RECOVERING] = 0
    if s.count[GO_BACK_N] == 1:
        row[F_SENT] = row[F_LOWEST]
        return
    for sequence in range(row[F_LOWEST], row[F_SENT]):
        at = row[F_BOARD] + sequence
        if s.board[at] == LANDED:  # its acknowledgment was lost, or is on its way
            s.board[at] = KNOWN
            row[F_ACKED] += 1
        elif s.board[at] == FLYING or s.board[at] == FLYING_AGAIN:
            s.board[at] = MISSING
            row[F_LOST] += 1
    row[F_LOST_FROM] = row[F_LOWEST]
    row[F_SCANNED] = row[F_SENT]
