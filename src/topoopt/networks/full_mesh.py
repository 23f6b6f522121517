"""The full mesh: a cable from every server to every other one."""

from topoopt.catalog import DEFAULT_LATENCY_S, Network, largest_degree
from topoopt.pricing import (
    WIRED_ONCE,
    Accounting,
    FabricOptions,
    FabricPrice,
    Interfaces,
    Plane,
    Realization,
    Site,
    cabled,
)
from topoopt.topologies import Topology, full_mesh


def wire(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> Topology:
    """Return the mesh, whose links share the bandwidth of all ports."""
    return full_mesh(servers, degree * bandwidth_bps, latency_s)


def bought(asked: Interfaces) -> Interfaces:
    """Return a port for every other server; together they have the bandwidth of those asked for.

    Where there are fewer servers than ports, some are joined by several cables.
    """
    others = asked.servers - 1
    if others <= asked.degree:
        return asked
    return Interfaces(asked.servers, others, asked.degree * asked.bandwidth_bps / others)


def realize(site: Site) -> Realization:
    """Return the cables, and whether a server can have so many ports."""
    servers, degree = site.interfaces.servers, site.interfaces.degree
    needed, most = servers - 1, largest_degree(max(servers, 2))
    remarks, problems = [WIRED_ONCE], []
    if needed > degree:
        remarks.append(f"the bill has the {needed} interfaces that every server needs, not {degree}")
    if needed > most:
        problems.append(
            f"every server needs {needed} interfaces and the largest has {most}; use another fabric"
        )
    return Realization(site.fabric, remarks=tuple(remarks), problems=tuple(problems))


def note(rule: Accounting, options: FabricOptions, degree: int, planes: tuple[Plane, ...]) -> str:
    """Return that the bill has other ports than those asked for."""
    return "an interface for every other server; the bandwidth of all interfaces asked for is shared by them"


NETWORK = Network(
    name="full-mesh",
    label="Full mesh",
    description="a link to every server, d·B shared by all",
    price=FabricPrice(count=cabled, realize=realize, note=note, interfaces=bought),
    wire=wire,
    cabled=True,
    own_ports=True,
    compared=True,
    order=90,
)
