"""TopoOpt behind optical circuit switches, which wire the next job by themselves."""

from __future__ import annotations

from topoopt import pricing
from topoopt.catalog import OWN, Network

TECHNOLOGIES = ("3d-mems", "piezo")

NETWORK = Network(
    name="topoopt-ocs",
    label="TopoOpt, OCS",
    description="optical circuit switches in place of panels",
    price=lambda: pricing.FabricPrice(
        count=pricing.behind_circuit_switches,
        realize=pricing.of_technologies(TECHNOLOGIES),
        optics=TECHNOLOGIES,
    ),
    timed_as=OWN,
    relays=True,
    compared=True,
    order=10,
)
