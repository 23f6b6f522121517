"""Routes that are looked up hop by hop, where circuits change under way."""

from topoopt.kernel import inlined
from topoopt.simulate.packet.kernel.draws import uniform
from topoopt.simulate.packet.kernel.layout import F_CONNECTION, F_DST, F_SRC, KIND_ACK, SEED, SERVERS, State


@inlined
def start_of(s: State, flow: int, what: int) -> int:
    """Return the server that sends a packet of a flow."""
    return s.flow[flow, F_DST] if (what & 3) >= KIND_ACK else s.flow[flow, F_SRC]


@inlined
def end_of(s: State, flow: int, what: int) -> int:
    """Return the server to which a packet of a flow goes."""
    return s.flow[flow, F_SRC] if (what & 3) >= KIND_ACK else s.flow[flow, F_DST]


@inlined
def next_link(s: State, node: int, flow: int, what: int) -> int:
    """Return the link that a packet takes from a server, drawn once for a connection and server."""
    servers = s.count[SERVERS]
    row = node * servers + end_of(s, flow, what)
    first = s.hop_first[row]
    choices = s.hop_first[row + 1] - first
    if choices == 1:
        return s.hop_link[first]
    place = uniform(s.count[SEED], s.flow[flow, F_CONNECTION] * servers + node)
    return s.hop_link[first + int(place * choices)]
