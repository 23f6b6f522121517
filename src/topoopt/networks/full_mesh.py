"""The full mesh: a cable from every server to every other one."""

from __future__ import annotations

from topoopt import catalog, pricing, topologies
from topoopt.base.errors import Infeasible
from topoopt.catalog import DEFAULT_LATENCY_S, Network


def wire(
    servers: int, degree: int, bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, seed: int = 0
) -> topologies.Topology:
    """Return the mesh, whose links share the bandwidth of all ports."""
    return topologies.full_mesh(servers, degree * bandwidth_bps, latency_s)


def bought(asked: pricing.Interfaces) -> pricing.Interfaces:
    """Return one port per other server, with the total bandwidth of those requested.

    Where there are fewer servers than ports, some are joined by several cables.

    Raises
    ------
    Infeasible
        If it needs more ports than a server can have.
    """
    others = asked.servers - 1
    if others <= asked.degree:
        return asked
    if others > catalog.MOST_INTERFACES:
        raise Infeasible(
            f"full-mesh: every server needs {others} interfaces and the largest has {catalog.MOST_INTERFACES}; "
            "use another fabric"
        )
    return pricing.Interfaces(asked.servers, others, asked.degree * asked.bandwidth_bps / others)


def realize(site: pricing.Site) -> pricing.Realization:
    """Return the cables."""
    servers, degree = site.interfaces.servers, site.interfaces.degree
    remarks = [pricing.WIRED_ONCE]
    if servers - 1 > degree:
        remarks.append(f"the bill has the {servers - 1} interfaces that every server needs, not {degree}")
    return pricing.Realization(site.fabric, remarks=tuple(remarks))


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
