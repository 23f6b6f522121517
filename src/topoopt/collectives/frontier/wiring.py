"""Wiring: directly joined servers and their ports; by strides or by the name of a family."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies import (
    LINK_MODELS,
    DirectWiring,
    Topology,
    circulant,
    full_mesh,
    ports_of_all,
    stride_offsets,
)
from topoopt.topologies.wirings import (
    FAMILY_NAMES,
    WiringRequest,
    check_bandwidth,
    read_switched_graph,
    read_wiring_file,
    search_wirings,
)

FULL_MESH = "full-mesh"
MOST_SERVERS, MOST_LINKS = 4096, 200_000
"""Largest wiring that schedules are made for."""
WIRED_DIRECTLY = ("best", *FAMILY_NAMES, FULL_MESH)
"""Families whose servers are joined without switches; ``best`` of them has the fewest hops."""


@dataclass(frozen=True, eq=False)
class Wiring:
    """A topology whose ports are all alike, with switches only where a file has them.

    Attributes
    ----------
    ports : int
        Ports per server and direction; some of them may be idle.
    links : str
        ``duplex`` where every link has one back, else ``directed``.
    rings : tuple of (servers in the order of visit, share of a link's rate)
        Rings that are known from how it was made; none where they have to be looked for.
    """

    name: str
    topology: Topology
    ports: int
    links: str
    rings: tuple[tuple[tuple[int, ...], float], ...] = ()

    @property
    def servers(self) -> int:
        """Number of servers."""
        return self.topology.servers

    @property
    def port_bps(self) -> float:
        """Bandwidth of one port."""
        return float(self.topology.bandwidth_bps[0] / self.topology.ports[0])

    @property
    def server_bps(self) -> float:
        """Bandwidth of all ports of a server: B."""
        return self.ports * self.port_bps

    @property
    def idle_ports(self) -> int:
        """Ports without a link out."""
        return self.servers * self.ports - int(self.topology.ports[self.topology.src < self.servers].sum())


def check_size(servers: int, links: int) -> None:
    """Refuse too large a wiring before it is built.

    Raises
    ------
    InvalidInput
        Above :data:`MOST_SERVERS` or :data:`MOST_LINKS`.
    """
    if servers > MOST_SERVERS:
        raise InvalidInput(f"servers: a collective is scheduled for at most {MOST_SERVERS}, got {servers}")
    if links > MOST_LINKS:
        raise InvalidInput(
            f"degree: at most {MOST_LINKS} links are scheduled for, {servers} servers have {links}"
        )


def wiring_of(name: str, topology: Topology, ports: int | None = None) -> Wiring:
    """Return a topology as a wiring.

    Raises
    ------
    InvalidInput
        For switches, ports that differ in bandwidth, or servers that differ in ports where ``ports`` is not given.
    """
    return Wiring(name, topology, ports_of_all(topology, ports), _links_of(topology))


def _links_of(topology: Topology) -> str:
    back = topology.link_ids(topology.dst, topology.src)
    duplex = bool((back >= 0).all() and (topology.ports[back] == topology.ports).all())
    return "duplex" if duplex else "directed"


def stride_wiring(
    servers: int, strides: Sequence[int], bandwidth_bps: float, links: str, degree: int | None = None
) -> Wiring:
    """Return the circulant of some strides.

    Raises
    ------
    InvalidInput
        If they take another number of ports than ``degree``, or a stride is none.
    """
    offsets = stride_offsets(servers, strides, links)
    check_size(servers, servers * len(offsets))
    named = ",".join(map(str, strides))
    if degree is not None and len(offsets) != degree:
        raise InvalidInput(
            f"strides: {named} take {len(offsets)} {links} ports of a server, got degree={degree}"
        )
    listed = f"strides {named.replace(',', ', ')}"
    return wiring_of(
        listed, circulant(servers, strides, bandwidth_bps, DEFAULT_LATENCY_S, links), len(offsets)
    )


def direct_wiring(name: str, made: DirectWiring, bandwidth_bps: float) -> Wiring:
    """Return fibers from server to server as a wiring, with the rings that their making gives."""
    rings = tuple((tuple(ring.walk.tolist()), ring.share) for ring in made.rings)
    return Wiring(name, made.topology(bandwidth_bps), made.degree, made.links, rings)


def family_wiring(
    family: str, servers: int, degree: int, bandwidth_bps: float, links: str = "duplex", seed: int = 0
) -> Wiring:
    """Return a wiring by the name of its family, of several the one with the fewest hops.

    Raises
    ------
    InvalidInput
        For an unknown family, or a full mesh of directed links.
    Infeasible
        If the family has no wiring with these servers and ports.
    """
    check_known("wiring", family, WIRED_DIRECTLY)
    if family != FULL_MESH:
        check_size(servers, servers * degree)
        request = WiringRequest(servers, degree, links, family, seed=seed)
        found = search_wirings(request, word="wiring").chosen.wiring
        return direct_wiring(found.family, found, bandwidth_bps)
    check_size(servers, servers * (servers - 1))
    if links != LINK_MODELS[0]:
        raise InvalidInput(f"links: a full mesh is made of cables, which are {LINK_MODELS[0]}; got {links}")
    return wiring_of(FULL_MESH, full_mesh(servers, degree * bandwidth_bps))


def read_wiring(
    path: str | Path,
    bandwidth_bps: float | None = None,
    links: str | None = None,
    degree: int | None = None,
    usual_bps: float = 100e9,
) -> Wiring:
    """Return the wiring of a file, or its accelerators and switches.

    See :func:`topoopt.topologies.wirings.read_wiring_file`. Where servers have different numbers of links, all have as
    many ports as the one with most.

    Parameters
    ----------
    bandwidth_bps
        Bandwidth per port; defaults to that of the links in the file, if it has one, else ``usual_bps``.

    Raises
    ------
    InvalidInput
        With the line or the place in JSON, as there; for more servers or links than are scheduled for; if the links
        in the file have another bandwidth.
    """
    switched = read_switched_graph(path, bandwidth_bps or usual_bps)
    if switched is not None:
        into, out = (
            np.bincount(end, switched.ports)[: switched.servers] for end in (switched.dst, switched.src)
        )
        return Wiring(str(path), switched, int(max(into.max(), out.max())), _links_of(switched))
    made, _ = read_wiring_file(path, links, degree, regular=False)
    check_size(made.servers, len(made.arcs[0]))
    said = made.recipe.get("bandwidth_bps")
    check_bandwidth(path, said, bandwidth_bps)
    if bandwidth_bps is None:
        bandwidth_bps = said if isinstance(said, float) else usual_bps
    return direct_wiring(str(path), made, bandwidth_bps)
