"""The full mesh: a cable from every server to every other one."""

from __future__ import annotations

from topoopt import catalog, pricing, topologies
from topoopt.catalog import DEFAULT_LATENCY_S, Network


def wire(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> topologies.Topology:
    """Return the mesh, whose links share the bandwidth of all ports."""
    return topologies.full_mesh(servers, degree * bandwidth_bps, latency_s)


def bought(asked: pricing.Interfaces) -> pricing.Interfaces:
    """Return a port for every other server; together they have the bandwidth of those asked for.

    Where there are fewer servers than ports, some are joined by several cables.
    """
    others = asked.servers - 1
    if others <= asked.degree:
        return asked
    return pricing.Interfaces(asked.servers, others, asked.degree * asked.bandwidth_bps / others)


def realize(site: pricing.Site) -> pricing.Realization:
    """Return the cables, and whether a server can have so many ports."""
    servers, degree = site.interfaces.servers, site.interfaces.degree
    needed, most = servers - 1, catalog.MOST_INTERFACES
    remarks, problems = [pricing.WIRED_ONCE], []
    if needed > degree:
        remarks.append(f"the bill has the {needed} interfaces that every server needs, not {degree}")
    if needed > most:
        problems.append(
            f"every server needs {needed} interfaces and the largest has {most}; use another fabric"
        )
    return pricing.Realization(site.fabric, remarks=tuple(remarks), problems=tuple(problems))


NETWORK = Network(
    name="full-mesh",
    label="Full mesh",
    description="a link to every server, d·B shared by all",
    price=lambda: pricing.FabricPrice(
        count=pricing.cabled,
        realize=realize,
        note="an interface for every other server; the bandwidth of all interfaces asked for is shared by them",
        interfaces=bought,
    ),
    wire=wire,
    cabled=True,
    own_ports=True,
    compared=True,
    order=90,
)
