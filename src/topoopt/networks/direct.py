"""TopoOpt's wiring without panels: cables from server to server, wired once for one job."""

from __future__ import annotations

from topoopt import pricing
from topoopt.catalog import OWN, Network
from topoopt.networks.topoopt import mean_hops

NETWORK = Network(
    name="direct",
    label="Direct cabling",
    description="the wiring of this plan in cables from server to server, no panel",
    price=lambda: pricing.FabricPrice(
        count=pricing.cabled,
        realize=pricing.realize_cables,
        note="wired once: for another job people move the cables",
    ),
    timed_as=OWN,
    relays=True,
    mean_hops=mean_hops,
    cabled=True,
    compared=True,
    order=5,
)
