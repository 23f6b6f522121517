"""One room for two topologies: what is wired now, and what comes, on the same servers and panels."""

from dataclasses import dataclass, replace

from topoopt.base.errors import InvalidInput
from topoopt.finder.rewiring.wire import wire
from topoopt.finder.rewiring.wiring import Wiring
from topoopt.topologies import DirectWiring, Topology
from topoopt.topologies.wirings import PortedLinks


@dataclass(frozen=True, eq=False)
class Joined:
    """Servers joined by links of one kind, of a plan or of a wiring file.

    Attributes
    ----------
    degree : int
        Interfaces of a server.
    patched : Wiring, optional
        Which ports the links take, where that is known.
    names : tuple of str
        Of the servers, where a file gave them some.
    """

    topology: Topology
    degree: int
    links: str
    patched: Wiring | None = None
    names: tuple[str, ...] = ()

    @property
    def servers(self) -> int:
        """How many there are."""
        return self.topology.servers


def joined_by(wiring: DirectWiring, ports: PortedLinks | None) -> Joined:
    """Return the links of a direct wiring, in the ports that they have."""
    patched = None
    if ports is not None:
        columns = (ports.src, ports.src_port, ports.dst, ports.dst_port)
        room = Wiring(wiring.links, wiring.degree, min(ports.interfaces_per_panel, wiring.degree))
        ends = zip(*(column.tolist() for column in columns), strict=True)
        patched = room.changed((), (room.joined((a, p), (b, q)) for a, p, b, q in ends))
    return Joined(wiring.topology(), wiring.degree, wiring.links, patched, wiring.names)


def wired_in_room(old: Joined, new: Joined, interfaces_per_panel: int | None) -> tuple[Wiring, Topology, int]:
    """Return the wiring of the old topology, the new one in the same room, and the room's servers.

    Ports that the old links are known to have stay theirs, where so many interfaces share a panel or whole panels do.

    Raises
    ------
    InvalidInput
        If there are not so many interfaces for a panel.
    """
    room, degree = max(old.servers, new.servers), max(old.degree, new.degree)
    before, after = _in_room(old.topology, room), _in_room(new.topology, room)
    if interfaces_per_panel is not None and not 1 <= interfaces_per_panel <= degree:
        raise InvalidInput(f"interfaces_per_panel: must be in 1..{degree}, got {interfaces_per_panel}")
    first = old.patched or wire(before, old.degree, old.links, interfaces_per_panel=interfaces_per_panel)
    shared = max(
        interfaces_per_panel or first.interfaces_per_panel,
        wire(after, new.degree, old.links, interfaces_per_panel=interfaces_per_panel).interfaces_per_panel,
    )
    # What is wired now takes only the interfaces that the old plan has, of however many the new one brings.
    wired = first
    if shared % first.interfaces_per_panel and shared < degree:
        wired = wire(before, old.degree, old.links, interfaces_per_panel=shared)
    return replace(wired, degree=degree, interfaces_per_panel=shared), after, room


def _in_room(topology: Topology, servers: int) -> Topology:
    """Return the same links in a room of more servers."""
    return replace(topology, servers=servers, nodes=servers, offsets=(), rings=())
