"""DCQCN: a sender that paces its packets, slower on notices of congestion, faster with time and bytes.

RATE and TARGET are shares of the rate of the sender's link. Timer actions since the last look are applied at the
next: between two packets only their own timers can change the rate. ``LEFT`` is the wait of the next packet, in
picoseconds at the full rate.
"""

from topoopt.base.kernel import compiled, inlined
from topoopt.simulation.packet.kernel.law import Law
from topoopt.simulation.packet.kernel.layout import C_OWN, OWN, SIZE_DATA, State, Window

RATE, TARGET, ALPHA, LEFT, SEEN_AT, ALPHA_AT, RISE_AT, BYTES_LEFT, TIMES, VOLUMES, LINK_BPS = range(
    OWN, OWN + 11
)
(GAIN, ALPHA_TIMER, RISE_TIMER, BYTE_COUNTER, FAST_STEPS, ADDITIVE_BPS, HYPER_BPS, LEAST_BPS) = range(
    C_OWN, C_OWN + 8
)
BIT_PS = 8e12
"""Picoseconds in a second, times bits in a byte."""
FULL = 1.0 - 1e-9


@inlined
def dcqcn_opened(s: State, flow: int, now: int) -> None:
    """Begin at the full rate, as if the congestion were complete (alpha = 1)."""
    w = s.window
    w[flow, RATE] = 1.0
    w[flow, TARGET] = 1.0
    w[flow, ALPHA] = 1.0
    w[flow, SEEN_AT] = float(now)


@compiled
def dcqcn_wait_ps(s: State, flow: int, now: int) -> int:
    """Return the wait of the next packet, or the time until the rate rises, whichever is less."""
    w = s.window
    _catch_up(s, flow, float(now))
    if w[flow, LEFT] <= 0.5:
        return 0
    wait = w[flow, LEFT] / w[flow, RATE]
    if w[flow, RATE] < FULL:
        wait = min(wait, w[flow, RISE_AT] - float(now))
    return int(wait + 0.5)


@compiled
def dcqcn_sent(s: State, flow: int, serial: int, now: int) -> None:
    """Count a packet that was sent, of so long on the wire."""
    w = s.window
    w[flow, LINK_BPS] = SIZE_DATA * BIT_PS / float(serial)
    w[flow, LEFT] = float(serial)
    if w[flow, RATE] < FULL:
        w[flow, BYTES_LEFT] -= float(SIZE_DATA)
        if w[flow, BYTES_LEFT] <= 0.0:
            w[flow, BYTES_LEFT] += s.constant[BYTE_COUNTER]
            w[flow, VOLUMES] += 1.0
            _rise(s, flow)


@compiled
def dcqcn_noticed(s: State, flow: int, now: int) -> None:
    """Slow down on a notice, and begin all counters anew."""
    w, c = s.window, s.constant
    _catch_up(s, flow, float(now))
    w[flow, TARGET] = w[flow, RATE]
    least = min(c[LEAST_BPS] / w[flow, LINK_BPS], 1.0)
    w[flow, RATE] = max(w[flow, RATE] * (1.0 - w[flow, ALPHA] / 2.0), least)
    w[flow, ALPHA] = (1.0 - c[GAIN]) * w[flow, ALPHA] + c[GAIN]
    w[flow, ALPHA_AT] = float(now) + c[ALPHA_TIMER]
    w[flow, RISE_AT] = float(now) + c[RISE_TIMER]
    w[flow, BYTES_LEFT] = c[BYTE_COUNTER]
    w[flow, TIMES] = 0.0
    w[flow, VOLUMES] = 0.0


@inlined
def _catch_up(s: State, flow: int, now: float) -> None:
    """Apply the timers' actions until now."""
    w, c = s.window, s.constant
    if w[flow, ALPHA_AT] > 0.0:
        while w[flow, ALPHA_AT] <= now:
            w[flow, ALPHA] *= 1.0 - c[GAIN]
            w[flow, ALPHA_AT] += c[ALPHA_TIMER]
    while w[flow, RATE] < FULL and w[flow, RISE_AT] <= now:
        _pass(s, flow, w[flow, RISE_AT])
        w[flow, RISE_AT] += c[RISE_TIMER]
        w[flow, TIMES] += 1.0
        _rise(s, flow)
    _pass(s, flow, now)


@inlined
def _pass(s: State, flow: int, until: float) -> None:
    w = s.window
    w[flow, LEFT] -= w[flow, RATE] * (until - w[flow, SEEN_AT])
    w[flow, SEEN_AT] = until


@inlined
def _rise(s: State, flow: int) -> None:
    """Raise the rate halfway to the target, which rises after some steps, and more after many."""
    w, c = s.window, s.constant
    if min(w[flow, TIMES], w[flow, VOLUMES]) > c[FAST_STEPS]:
        w[flow, TARGET] += c[HYPER_BPS] / w[flow, LINK_BPS]
    elif max(w[flow, TIMES], w[flow, VOLUMES]) >= c[FAST_STEPS]:
        w[flow, TARGET] += w[flow, Window.WEIGHT] * c[ADDITIVE_BPS] / w[flow, LINK_BPS]
    w[flow, TARGET] = min(w[flow, TARGET], 1.0)
    w[flow, RATE] = (w[flow, RATE] + w[flow, TARGET]) / 2.0


DCQCN = Law(opened=dcqcn_opened, noticed=dcqcn_noticed, wait_ps=dcqcn_wait_ps, sent=dcqcn_sent)
