"""Routes that are looked up hop by hop, where circuits change under way."""

from topoopt.base.kernel import inlined
from topoopt.simulation.packet.kernel.draws import uniform
from topoopt.simulation.packet.kernel.layout import KIND_ACK, Count, Flow, State


@inlined
def start_of(s: State, flow: int, what: int) -> int:
    """Return the server that sends a packet of a flow."""
    return s.flow[flow, Flow.DST] if (what & 3) >= KIND_ACK else s.flow[flow, Flow.SRC]


@inlined
def end_of(s: State, flow: int, what: int) -> int:
    """Return the server to which a packet of a flow goes."""
    return s.flow[flow, Flow.SRC] if (what & 3) >= KIND_ACK else s.flow[flow, Flow.DST]


@inlined
def next_link(s: State, node: int, flow: int, what: int) -> int:
    """Return the link that a packet takes from a server, drawn once for a connection and server."""
    servers = s.count[Count.SERVERS]
    row = node * servers + end_of(s, flow, what)
    first = s.hop_first[row]
    choices = s.hop_first[row + 1] - first
    if choices == 1:
        return s.hop_link[first]
    place = uniform(s.count[Count.SEED], s.flow[flow, Flow.CONNECTION] * servers + node)
    return s.hop_link[first + int(place * choices)]
