"""SiP-ML: wavelengths of servers as one-way circuits that follow the traffic.

References
----------
.. [1] M. Khani et al., "SiP-ML", SIGCOMM 2021.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from topoopt import finder, pricing
from topoopt.catalog import Network

TECHNOLOGIES = ("silicon-photonics",)
DELAY_S = 25e-6
"""A change of wavelengths, from memory of the paper, unconfirmed."""


def build(request: Any) -> Any:
    """Return the initial one-way circuits, and the rule of their changes."""
    return finder.circuit_fabric("sip-ml", request, DELAY_S, duplex=False, host_forwarding=False)


def realize(site: pricing.Site) -> pricing.Realization:
    """Return the optical devices; a wavelength is one-way."""
    one_way = replace(site, cabling=replace(site.cabling, links="directed"))
    return pricing.of_technologies(TECHNOLOGIES)(one_way)


NETWORK = Network(
    name="sip-ml",
    label="SiP-ML",
    description="d wavelengths of B a server, changed in 25 µs, no forwarding",
    price=lambda: pricing.FabricPrice(
        count=pricing.behind_circuit_switches,
        realize=realize,
        note="no bill of SiP-ML is published: priced as an optical circuit switch",
        optics=TECHNOLOGIES,
    ),
    build=build,
    settings=frozenset({"delay_s", "host_forwarding"}),
    changes=True,
    color=6,
    order=100,
)
