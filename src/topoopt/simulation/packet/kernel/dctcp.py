"""DCTCP: the window is cut by half the share of marks, as an average over many windows.

RFC 8257 cuts at the end of a window in which there was a mark. The TopoOpt authors' packet simulator does at the end
of every window, as long as the average is not yet forgotten.
"""

from topoopt.base.kernel import inlined
from topoopt.simulation.packet.kernel.law import Law
from topoopt.simulation.packet.kernel.layout import C_OWN, OWN, State, Window
from topoopt.simulation.packet.kernel.reno import grow_window, reno_cut, reno_timed_out

ALPHA, SEEN, MARKS_SEEN, WINDOW_SIZE = OWN, OWN + 1, OWN + 2, OWN + 3
GAIN, ALWAYS = C_OWN, C_OWN + 1


@inlined
def dctcp_opened(s: State, flow: int, now: int) -> None:
    """Begin the first window of measurement."""
    s.window[flow, WINDOW_SIZE] = s.window[flow, Window.CWND]


@inlined
def dctcp_resumed(s: State, flow: int, now: int) -> None:
    """Begin a window of measurement; the share of marks stays."""
    s.window[flow, SEEN] = 0.0
    s.window[flow, MARKS_SEEN] = 0.0
    s.window[flow, WINDOW_SIZE] = s.window[flow, Window.CWND]


@inlined
def dctcp_acked(s: State, flow: int, marked: bool, now: int) -> None:
    """Measure the share of marks, once a window cut it, then grow it."""
    w = s.window
    w[flow, SEEN] += 1.0
    if marked:
        w[flow, MARKS_SEEN] += 1.0
        w[flow, Window.SSTHRESH] = min(w[flow, Window.SSTHRESH], w[flow, Window.CWND])
    if w[flow, SEEN] >= w[flow, WINDOW_SIZE]:
        gain = s.constant[GAIN]
        w[flow, ALPHA] = (1.0 - gain) * w[flow, ALPHA] + gain * w[flow, MARKS_SEEN] / w[flow, SEEN]
        due = w[flow, MARKS_SEEN] > 0.0 or s.constant[ALWAYS] > 0.0
        w[flow, SEEN] = 0.0
        w[flow, MARKS_SEEN] = 0.0
        if due and w[flow, ALPHA] > 0.0:
            w[flow, Window.CWND] = max(w[flow, Window.CWND] * (1.0 - w[flow, ALPHA] / 2.0), 1.0)
            w[flow, Window.SSTHRESH] = w[flow, Window.CWND]
        w[flow, WINDOW_SIZE] = w[flow, Window.CWND]
    if w[flow, Window.CWND] < w[flow, Window.SSTHRESH]:
        w[flow, Window.CWND] = min(w[flow, Window.CWND] + 1.0, w[flow, Window.SSTHRESH])
    else:
        grow_window(s, flow, 1.0 / w[flow, Window.CWND])


DCTCP = Law(
    opened=dctcp_opened, resumed=dctcp_resumed, acked=dctcp_acked, lost=reno_cut, timed_out=reno_timed_out
)
