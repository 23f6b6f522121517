"""TCP Reno with explicit congestion notification, and TCP CUBIC (RFC 9438).

The window of CUBIC is W(t) = C (t - K)³ + W_max, with K = cbrt((W_max - W_0) / C): after K seconds the window W_0
is back at W_max, from which it was cut. Below Reno's window, it is Reno's. For a weighted connection both grow
faster by the weight: time in the cubic function, and acknowledgments in Reno's, count that many times.

Reno halves the window at most once a window, and adds one packet each window. Where congestion is avoided, the growth
of a window is one step in one place, ``grow_window``: there connections are weighed. Slow start has no weight.
"""

from topoopt.base.kernel import compiled, inlined
from topoopt.simulation.packet.kernel.law import Law
from topoopt.simulation.packet.kernel.layout import C_OWN, OWN, Flow, State, Window

HOLD = OWN
LEAST_SSTHRESH = 2.0


@inlined
def grow_window(s: State, flow: int, packets: float) -> None:
    """Increase the window by some packets for an acknowledged one, or by more or less, by its weight."""
    s.window[flow, Window.CWND] += packets * s.window[flow, Window.WEIGHT]


@inlined
def slow_start(s: State, flow: int) -> bool:
    """Grow by a packet for each below the threshold; return whether that was so."""
    w = s.window
    if w[flow, Window.CWND] >= w[flow, Window.SSTHRESH]:
        return False
    w[flow, Window.CWND] += min(1.0, w[flow, Window.SSTHRESH] - w[flow, Window.CWND])
    return True


@inlined
def hold_window(s: State, flow: int) -> None:
    """Ignore further marks and losses of packets in flight for the window (RFC 3168)."""
    row = s.flow[flow]
    s.window[flow, HOLD] = float(row[Flow.PIPE])
    row[Flow.RECOVER] = max(row[Flow.SENT], row[Flow.FURTHEST])


@inlined
def reno_resumed(s: State, flow: int, now: int) -> None:
    """Resume with nothing in flight."""
    s.window[flow, HOLD] = 0.0


@compiled
def reno_acked(s: State, flow: int, marked: bool, now: int) -> None:
    """Halve on a mark, once per window in flight; otherwise grow."""
    w = s.window
    if w[flow, HOLD] > 0.0:
        w[flow, HOLD] -= 1.0
    elif marked:
        reno_cut(s, flow, now)
        hold_window(s, flow)
    elif not slow_start(s, flow):
        grow_window(s, flow, 1.0 / w[flow, Window.CWND])


@inlined
def reno_cut(s: State, flow: int, now: int) -> None:
    """Continue with half the window."""
    s.window[flow, Window.SSTHRESH] = max(s.window[flow, Window.CWND] / 2.0, LEAST_SSTHRESH)
    s.window[flow, Window.CWND] = s.window[flow, Window.SSTHRESH]


@compiled
def reno_timed_out(s: State, flow: int, now: int) -> None:
    """Start again with one packet."""
    reno_cut(s, flow, now)
    s.window[flow, Window.CWND] = 1.0


RENO = Law(resumed=reno_resumed, acked=reno_acked, lost=reno_cut, timed_out=reno_timed_out)
LARGEST, EPOCH, RISE, ORIGIN, FRIENDLY, BEFORE, AGED_AT = range(OWN + 1, OWN + 8)
SCALE, BETA = C_OWN, C_OWN + 1
S = 1e-12
"""Seconds in a picosecond: C counts packets per cubic second."""


@inlined
def cubic_opened(s: State, flow: int, now: int) -> None:
    """Begin without a time of the last cut."""
    s.window[flow, EPOCH] = -1.0


@inlined
def cubic_resumed(s: State, flow: int, now: int) -> None:
    """Resume with nothing in flight; the elapsed time does not count (RFC 9438, section 4.2)."""
    s.window[flow, HOLD] = 0.0
    s.window[flow, EPOCH] = -1.0


@compiled
def cubic_acked(s: State, flow: int, marked: bool, now: int) -> None:
    """Cut on a mark, once per window in flight; otherwise grow."""
    w = s.window
    if w[flow, HOLD] > 0.0:
        w[flow, HOLD] -= 1.0
    elif marked:
        cubic_cut(s, flow, now)
        hold_window(s, flow)
    elif not slow_start(s, flow):
        _avoid_congestion(s, flow, now)


@inlined
def _avoid_congestion(s: State, flow: int, now: int) -> None:
    """Grow towards the cubic function a round trip ahead, or as fast as Reno if that is faster."""
    w, beta = s.window, s.constant[BETA]
    if w[flow, EPOCH] < 0.0:
        _begin_epoch(s, flow, now)
    w[flow, EPOCH] -= (w[flow, Window.WEIGHT] - 1.0) * (float(now) - w[flow, AGED_AT])
    w[flow, AGED_AT] = float(now)
    seconds = (float(now) - w[flow, EPOCH]) * S
    reno = 1.0 if w[flow, FRIENDLY] >= w[flow, BEFORE] else 3.0 * (1.0 - beta) / (1.0 + beta)
    w[flow, FRIENDLY] += reno * w[flow, Window.WEIGHT] / w[flow, Window.CWND]
    if _cubic(s, flow, seconds) < w[flow, FRIENDLY]:
        w[flow, Window.CWND] += max(w[flow, FRIENDLY] - w[flow, Window.CWND], 0.0)
        return
    target = _cubic(s, flow, seconds + w[flow, Window.SRTT] * S)
    target = min(max(target, w[flow, Window.CWND]), 1.5 * w[flow, Window.CWND])
    w[flow, Window.CWND] += (target - w[flow, Window.CWND]) / w[flow, Window.CWND]


@inlined
def _begin_epoch(s: State, flow: int, now: int) -> None:
    """Lay the cubic function through the window of now; flat here if no larger one is known."""
    w = s.window
    w[flow, EPOCH] = float(now)
    w[flow, AGED_AT] = float(now)
    w[flow, ORIGIN] = max(w[flow, LARGEST], w[flow, Window.CWND])
    w[flow, RISE] = ((w[flow, ORIGIN] - w[flow, Window.CWND]) / s.constant[SCALE]) ** (1.0 / 3.0)
    w[flow, FRIENDLY] = w[flow, Window.CWND]


@inlined
def _cubic(s: State, flow: int, seconds: float) -> float:
    away = seconds - s.window[flow, RISE]
    return s.constant[SCALE] * away * away * away + s.window[flow, ORIGIN]


@compiled
def cubic_cut(s: State, flow: int, now: int) -> None:
    """Store the window, reduced if smaller than the last (fast convergence), and continue with a part of it."""
    w, beta = s.window, s.constant[BETA]
    cwnd = w[flow, Window.CWND]
    w[flow, LARGEST] = cwnd * (1.0 + beta) / 2.0 if cwnd < w[flow, LARGEST] else cwnd
    w[flow, BEFORE] = cwnd
    w[flow, Window.SSTHRESH] = max(cwnd * beta, LEAST_SSTHRESH)
    w[flow, Window.CWND] = w[flow, Window.SSTHRESH]
    w[flow, EPOCH] = -1.0


@compiled
def cubic_timed_out(s: State, flow: int, now: int) -> None:
    """Start again with one packet; the cubic function is flat where slow start will end."""
    cubic_cut(s, flow, now)
    s.window[flow, Window.CWND] = 1.0
    s.window[flow, LARGEST] = 0.0


CUBIC = Law(
    opened=cubic_opened, resumed=cubic_resumed, acked=cubic_acked, lost=cubic_cut, timed_out=cubic_timed_out
)
