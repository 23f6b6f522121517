"""Event handlers of the transports by name, and the choice of the one in use; constants: ``packet/transports.py``."""

from collections.abc import Callable, Mapping
from typing import Any

from topoopt.base.kernel import compiled, inlined
from topoopt.simulation.packet.kernel.dcqcn import DCQCN
from topoopt.simulation.packet.kernel.dctcp import DCTCP
from topoopt.simulation.packet.kernel.law import LINE_RATE, Law
from topoopt.simulation.packet.kernel.layout import Constant, Count, State, Window
from topoopt.simulation.packet.kernel.reno import CUBIC, RENO

LAWS: Mapping[str, Law] = {
    "dctcp": DCTCP,
    "reno": RENO,
    "cubic": CUBIC,
    "dcqcn": DCQCN,
    "line-rate": LINE_RATE,
}
CODES: Mapping[str, int] = {name: code for code, name in enumerate(LAWS)}

Event = Callable[..., Any]


def _of_the_one_in_use(event: str) -> Event:
    """Return a function that dispatches an event to the transport in use."""
    chosen: Event = getattr(Law(), event)
    for code, law in enumerate(LAWS.values()):
        function = getattr(law, event)
        if function is not getattr(Law(), event):
            chosen = _either(code, function, chosen)
    return chosen


def _either(code: int, function: Event, otherwise: Event) -> Event:
    def choose(s: State, flow: int, *rest: Any) -> Any:
        if s.count[Count.TRANSPORT] == code:
            return function(s, flow, *rest)
        return otherwise(s, flow, *rest)

    return inlined(choose)


acked = _of_the_one_in_use("acked")
lost = _of_the_one_in_use("lost")
timed_out = _of_the_one_in_use("timed_out")
noticed = _of_the_one_in_use("noticed")
wait_ps = _of_the_one_in_use("wait_ps")
sent = _of_the_one_in_use("sent")
resumed = _of_the_one_in_use("resumed")
_opened = _of_the_one_in_use("opened")


@compiled
def opened(s: State, flow: int, now: int) -> None:
    """Set the state of a connection that has just been opened."""
    s.window[flow, :] = 0.0
    s.window[flow, Window.CWND] = s.constant[Constant.FIRST_WINDOW]
    s.window[flow, Window.SSTHRESH] = s.constant[Constant.SSTHRESH]
    s.window[flow, Window.WEIGHT] = 1.0
    _opened(s, flow, now)
