"""OCS-reconfig: optical circuit switches whose circuits follow the traffic (TopoOpt, NSDI 2023, section 5.1)."""

from __future__ import annotations

from typing import Any

from topoopt import finder, pricing
from topoopt.catalog import Network

TECHNOLOGIES = ("3d-mems", "piezo")
DELAY_S = 10e-3
"""A change of a 3D MEMS switch (TopoOpt, NSDI 2023, section 5.1)."""


def build(request: Any) -> Any:
    """Return the circuits of the start, and the rule by which they change."""
    return finder.circuit_fabric("ocs-reconfig", request, DELAY_S, duplex=True, host_forwarding=True)


NETWORK = Network(
    name="ocs-reconfig",
    label="OCS-reconfig",
    description="d circuits of B a server, changed in 10 ms, forwarding",
    price=lambda: pricing.FabricPrice(
        count=pricing.behind_circuit_switches,
        realize=pricing.of_technologies(TECHNOLOGIES),
        note="priced as an optical circuit switch",
        optics=TECHNOLOGIES,
    ),
    build=build,
    settings=frozenset({"delay_s", "host_forwarding"}),
    changes=True,
    color=7,
    order=110,
)
