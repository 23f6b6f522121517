"""Loss recovery: detection of lost packets and retransmission.

``selective``: the receiver keeps every packet and reports it; a packet counts as lost when some later ones have
been acknowledged (RFC 6675), or after a timeout. ``board`` has the fate of each packet. ``go-back-n``: the
receiver drops out-of-order packets and reports it once per gap; the sender goes back to there.
"""

from topoopt.base.kernel import compiled, inlined
from topoopt.simulation.packet.kernel.heaps import push_timer
from topoopt.simulation.packet.kernel.layout import (
    KEPT_AND_WEIGHED,
    KIND_SHIFT,
    NO_SEQUENCE,
    Constant,
    Count,
    Fate,
    Flow,
    State,
    Timer,
    Window,
)
from topoopt.simulation.packet.kernel.mltcp_account import note
from topoopt.simulation.packet.kernel.transports import acked, lost

MOST_BACKOFF = 6
"""Each timeout waits twice as long as the one before, up to 2^6 times the first, until a round trip is measured."""


@compiled
def take_board(s: State, flow: int) -> None:
    """Get a byte for each packet; a row keeps its board for the connections after it."""
    packets = s.flow[flow, Flow.PACKETS]
    kind = 3
    while (1 << kind) < packets:
        kind += 1
    if s.flow[flow, Flow.BOARD_CLASS] < kind:
        s.flow[flow, Flow.BOARD] = s.count[Count.BOARD_USED]
        s.flow[flow, Flow.BOARD_CLASS] = kind
        s.count[Count.BOARD_USED] += 1 << kind
    first = s.flow[flow, Flow.BOARD]
    s.board[first : first + packets] = Fate.UNSENT


@compiled
def land(s: State, flow: int, sequence: int) -> int:
    """Record a packet at the receiver; return the sequence number of its acknowledgment."""
    row, first = s.flow[flow], s.flow[flow, Flow.BOARD]
    if s.count[Count.GO_BACK_N] == 1:
        return _land_in_order(s, flow, sequence)
    fate = s.board[first + sequence]
    if fate == Fate.LANDED or fate == Fate.KNOWN:
        return sequence
    row[Flow.ARRIVED] += 1
    s.board[first + sequence] = Fate.LANDED
    if fate == Fate.MISSING:  # it was not lost, only late; the sender need not send it again
        row[Flow.LOST] -= 1
        row[Flow.PIPE] += 1
    while row[Flow.EXPECTED] < row[Flow.PACKETS]:
        fate = s.board[first + row[Flow.EXPECTED]]
        if fate != Fate.LANDED and fate != Fate.KNOWN:
            break
        row[Flow.EXPECTED] += 1
    return sequence


@compiled
def _land_in_order(s: State, flow: int, sequence: int) -> int:
    """Accept the expected packet; refuse a later one, and send the expected number to its sender."""
    row = s.flow[flow]
    if sequence == row[Flow.EXPECTED]:
        row[Flow.EXPECTED] += 1
        row[Flow.ARRIVED] += 1
        row[Flow.REFUSED] = 0
    elif sequence > row[Flow.EXPECTED] and row[Flow.REFUSED] == 0:
        row[Flow.REFUSED] = 1
        return row[Flow.EXPECTED]
    return NO_SEQUENCE


@compiled
def learn(s: State, flow: int, sequence: int, expected: int, again: bool, marked: bool, now: int) -> bool:
    """Record received packets at the sender, find lost ones, and let the transport react; return whether it did."""
    row = s.flow[flow]
    if row[Flow.TIMED] >= 0:
        _measure(s, flow, sequence, expected, again, now)
    if expected >= row[Flow.RECOVER]:
        row[Flow.RECOVERING] = 0
    if s.count[Count.GO_BACK_N] == 1:
        return _learn_in_order(s, flow, sequence, expected, marked, now)
    while row[Flow.LOWEST] < expected:
        _know(s, flow, row[Flow.LOWEST], marked and row[Flow.LOWEST] == sequence, now)
        row[Flow.LOWEST] += 1
    if sequence >= expected:
        _know(s, flow, sequence, marked, now)
    row[Flow.HIGHEST] = max(row[Flow.HIGHEST], sequence)
    first, reorder = row[Flow.BOARD], int(s.constant[Constant.REORDER])
    cut = False
    while row[Flow.SCANNED] + reorder <= row[Flow.HIGHEST]:
        if s.board[first + row[Flow.SCANNED]] == Fate.FLYING:
            s.board[first + row[Flow.SCANNED]] = Fate.MISSING
            row[Flow.LOST] += 1
            row[Flow.LOST_FROM] = min(row[Flow.LOST_FROM], row[Flow.SCANNED])
            row[Flow.PIPE] -= 1
            cut = cut or row[Flow.SCANNED] >= row[Flow.RECOVER]
        row[Flow.SCANNED] += 1
    if cut:
        _cut(s, flow, now)
    return cut


@compiled
def _measure(s: State, flow: int, sequence: int, expected: int, again: bool, now: int) -> None:
    """Measure the round trip of the packet that is timed, unless another copy of it was acknowledged."""
    row = s.flow[flow]
    exact = s.count[Count.GO_BACK_N] == 0 and row[Flow.TIMED] == sequence
    if exact or row[Flow.TIMED] < expected:
        if (again if exact else False) == (row[Flow.TIMED_AGAIN] == 1):
            measure(s, flow, now - row[Flow.TIMED_AT])
        row[Flow.TIMED] = -1


@compiled
def _learn_in_order(s: State, flow: int, sequence: int, expected: int, marked: bool, now: int) -> bool:
    """Move the window to the expected packet, or go back to it."""
    row = s.flow[flow]
    for place in range(row[Flow.LOWEST], expected):
        _news(s, flow, marked and place == expected - 1, now)
    row[Flow.LOWEST] = max(row[Flow.LOWEST], expected)
    row[Flow.SENT] = max(row[Flow.SENT], row[Flow.LOWEST])
    cut = False
    if sequence == expected and expected >= row[Flow.LOWEST]:
        row[Flow.SENT] = expected
        row[Flow.TIMED] = -1
        cut = expected >= row[Flow.RECOVER]
        if cut:
            _cut(s, flow, now)
    row[Flow.PIPE] = row[Flow.SENT] - row[Flow.LOWEST]
    return cut


@compiled
def _know(s: State, flow: int, sequence: int, marked: bool, now: int) -> None:
    at = s.flow[flow, Flow.BOARD] + sequence
    if s.board[at] == Fate.LANDED:
        s.board[at] = Fate.KNOWN
        s.flow[flow, Flow.PIPE] -= 1
        _news(s, flow, marked, now)


@compiled
def _news(s: State, flow: int, marked: bool, now: int) -> None:
    """One packet more is known to be in; a window does not grow while losses are made good."""
    row = s.flow[flow]
    row[Flow.ACKED] += 1
    row[Flow.TIMEOUTS] = 0
    if s.count[Count.KEEPS] == KEPT_AND_WEIGHED:
        note(s, flow, 1.0, now)
    if row[Flow.RECOVERING] == 0 and s.count[Count.PACED] == 0:
        acked(s, flow, marked, now)
    wait_for_news(s, flow, now)


@compiled
def _cut(s: State, flow: int, now: int) -> None:
    """React to losses, once for everything in flight when the first was detected."""
    row = s.flow[flow]
    row[Flow.RECOVER] = max(row[Flow.SENT], row[Flow.FURTHEST])
    row[Flow.RECOVERING] = 1
    lost(s, flow, now)


@compiled
def give_up(s: State, flow: int) -> None:
    """Count everything in flight as lost after a timeout without news."""
    row = s.flow[flow]
    row[Flow.PIPE] = 0
    row[Flow.TIMED] = -1
    row[Flow.RECOVER] = max(row[Flow.SENT], row[Flow.FURTHEST])
    row[Flow.RECOVERING] = 0
    if s.count[Count.GO_BACK_N] == 1:
        row[Flow.SENT] = row[Flow.LOWEST]
        return
    for sequence in range(row[Flow.LOWEST], row[Flow.SENT]):
        at = row[Flow.BOARD] + sequence
        if s.board[at] == Fate.LANDED:  # its acknowledgment was lost, or is on its way
            s.board[at] = Fate.KNOWN
            row[Flow.ACKED] += 1
        elif s.board[at] == Fate.FLYING or s.board[at] == Fate.FLYING_AGAIN:
            s.board[at] = Fate.MISSING
            row[Flow.LOST] += 1
    row[Flow.LOST_FROM] = row[Flow.LOWEST]
    row[Flow.SCANNED] = row[Flow.SENT]


@inlined
def measure(s: State, flow: int, sample_ps: int) -> None:
    """Smooth the round-trip time and its variation; timeouts are no longer backed off."""
    s.flow[flow, Flow.BACKOFF] = 0
    w, sample = s.window, float(sample_ps)
    if w[flow, Window.SRTT] == 0.0:
        w[flow, Window.SRTT] = sample
        w[flow, Window.RTTVAR] = sample / 2.0
    else:
        w[flow, Window.RTTVAR] += (abs(w[flow, Window.SRTT] - sample) - w[flow, Window.RTTVAR]) / 4.0
        w[flow, Window.SRTT] += (sample - w[flow, Window.SRTT]) / 8.0


@compiled
def wait_for_news(s: State, flow: int, now: int) -> None:
    """Set the flow's deadline, and its timer if none fires before."""
    timeout = s.constant[Constant.TIMEOUT_FIRST]
    if s.window[flow, Window.SRTT] > 0.0:
        timeout = max(
            s.constant[Constant.TIMEOUT_MIN],
            s.window[flow, Window.SRTT] + 4.0 * s.window[flow, Window.RTTVAR],
        )
    deadline = now + (int(timeout) << min(s.flow[flow, Flow.BACKOFF], MOST_BACKOFF))
    s.flow[flow, Flow.DEADLINE] = deadline
    if s.flow[flow, Flow.TIMER] < 0 or s.flow[flow, Flow.TIMER] > deadline:
        set_timer(s, flow, deadline)


@compiled
def set_timer(s: State, flow: int, when: int) -> None:
    """Check the flow's deadline at a time."""
    s.flow[flow, Flow.TIMER] = when
    push_timer(s, when, (Timer.RETRANSMIT << KIND_SHIFT) | flow)
