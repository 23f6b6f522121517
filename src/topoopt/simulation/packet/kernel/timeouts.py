"""Round-trip times, and how long a sender waits before it takes what is under way as lost (RFC 6298)."""

from topoopt.base.kernel import compiled, inlined
from topoopt.simulation.packet.kernel.heaps import push_timer
from topoopt.simulation.packet.kernel.layout import KIND_SHIFT, Constant, Flow, State, Timer, Window

MOST_BACKOFF = 6
"""Each timeout waits twice as long as the one before, up to 2^6 times the first, until a round trip is measured."""


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
    """Look at the flow's deadline at a time."""
    s.flow[flow, Flow.TIMER] = when
    push_timer(s, when, (Timer.RETRANSMIT << KIND_SHIFT) | flow)
