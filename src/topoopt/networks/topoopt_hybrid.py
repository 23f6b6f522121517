"""TopoOpt with some ports of every server behind optical circuit switches, and the others behind patch panels."""

from dataclasses import replace

from topoopt.catalog import OWN, Network
from topoopt.pricing import (
    Accounting,
    Buying,
    Counted,
    FabricOptions,
    FabricPrice,
    Plane,
    Realization,
    Site,
    behind_both,
    optical_devices,
    realize_optical,
)

PANELS, SWITCHES = ("patch-panel",), ("3d-mems", "piezo")


def count(buying: Buying) -> Counted:
    """Return the parts of both kinds of ports."""
    return behind_both(buying, buying.options.hybrid_ocs_interfaces(buying.interfaces.degree))


def realize(site: Site) -> Realization:
    """Return the panels, and the circuit switches of the technology that is named or usual."""
    servers, degree = site.interfaces.servers, site.interfaces.degree
    switched = site.options.hybrid_ocs_interfaces(degree)
    panels = optical_devices(PANELS, degree - switched, servers, replace(site.cabling, technology=None))
    return realize_optical(site, panels, optical_devices(SWITCHES, switched, servers, site.cabling))


def note(rule: Accounting, options: FabricOptions, degree: int, planes: tuple[Plane, ...]) -> str:
    """Return how the ports are split."""
    switched = options.hybrid_ocs_interfaces(degree)
    return f"{switched} of {degree} interfaces behind optical circuit switches, the others behind panels"


NETWORK = Network(
    name="topoopt-hybrid",
    label="TopoOpt, hybrid",
    description="some ports behind optical circuit switches, the others behind patch panels",
    price=FabricPrice(count=count, realize=realize, note=note, optics=PANELS + SWITCHES),
    timed_as=OWN,
    relays=True,
    panels=True,
    order=20,
)
