"""TopoOpt with some ports of every server behind optical circuit switches, and the others behind patch panels."""

from __future__ import annotations

from dataclasses import replace

from topoopt import pricing
from topoopt.catalog import OWN, Network

PANELS, SWITCHES = ("patch-panel",), ("3d-mems", "piezo")


def count(buying: pricing.Buying) -> pricing.Counted:
    """Return the parts of both kinds of ports."""
    return pricing.behind_both(buying, buying.options.hybrid_ocs_interfaces(buying.interfaces.degree))


def realize(site: pricing.Site) -> pricing.Realization:
    """Return the panels, and the circuit switches of the named or default technology."""
    servers, degree = site.interfaces.servers, site.interfaces.degree
    switched = site.options.hybrid_ocs_interfaces(degree)
    panels = pricing.optical_devices(
        PANELS, degree - switched, servers, replace(site.cabling, technology=None)
    )
    return pricing.realize_optical(
        site, panels, pricing.optical_devices(SWITCHES, switched, servers, site.cabling)
    )


def note(options: pricing.FabricOptions, degree: int, planes: tuple[pricing.Plane, ...]) -> str:
    """Return the split of the ports."""
    switched = options.hybrid_ocs_interfaces(degree)
    return f"{switched} of {degree} interfaces behind optical circuit switches, the others behind panels"


NETWORK = Network(
    name="topoopt-hybrid",
    label="TopoOpt, hybrid",
    description="some ports behind optical circuit switches, the others behind patch panels",
    price=lambda: pricing.FabricPrice(count=count, realize=realize, note=note, optics=PANELS + SWITCHES),
    timed_as=OWN,
    relays=True,
    panels=True,
    order=20,
)
