"""One room for two topologies: what is wired now, and what comes, on the same servers and panels."""

from dataclasses import replace

from topoopt.errors import InvalidInput
from topoopt.hardware import ClusterSpec
from topoopt.rewiring.wire import wire
from topoopt.rewiring.wiring import Wiring
from topoopt.topology import Topology


def wired_in_room(
    old: tuple[Topology, ClusterSpec], new: tuple[Topology, ClusterSpec], interfaces_per_panel: int | None
) -> tuple[Wiring, Topology, int]:
    """Return the wiring of the old topology, the new one in the same room, and the room's servers.

    Raises
    ------
    InvalidInput
        If there are not so many interfaces for a panel.
    """
    (before, was), (after, comes) = old, new
    room, degree = max(was.servers, comes.servers), max(was.degree, comes.degree)
    before, after = _in_room(before, room), _in_room(after, room)
    if interfaces_per_panel is not None and not 1 <= interfaces_per_panel <= degree:
        raise InvalidInput(f"interfaces_per_panel: must be in 1..{degree}, got {interfaces_per_panel}")
    shared = max(
        wire(one, cluster.degree, was.links, interfaces_per_panel=interfaces_per_panel).interfaces_per_panel
        for one, cluster in ((before, was), (after, comes))
    )
    # What is wired now takes only the interfaces that the old plan has, of however many the new one brings.
    wired = wire(before, was.degree, was.links, interfaces_per_panel=shared)
    return replace(wired, degree=degree, interfaces_per_panel=shared), after, room


def _in_room(topology: Topology, servers: int) -> Topology:
    """Return the same links in a room of more servers."""
    return replace(topology, servers=servers, nodes=servers, offsets=())
