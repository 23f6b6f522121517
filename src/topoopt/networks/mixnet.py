"""MixNet: a fat-tree of some ports of every server, and optical circuits inside regions for the others.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: 2 of 8 NICs electrical, regions of up to 64 accelerators.
"""

from __future__ import annotations

from typing import Any

from topoopt import finder, pricing
from topoopt.catalog import Network


def build(request: Any) -> Any:
    """Return the electrical fat-tree, and the rule by which circuits follow the traffic."""
    return finder.mixnet(request)


def count(buying: pricing.Buying) -> pricing.Counted:
    """Return the parts of a fat-tree for the electrical ports, and of circuit switches for the others."""
    electrical = buying.options.mixnet_electrical_interfaces(buying.interfaces.degree)
    tree = pricing.switched(buying.of(electrical))
    return tree.plus(pricing.behind_circuit_switches(buying.of(buying.interfaces.degree - electrical)))


def realize(site: pricing.Site) -> pricing.Realization:
    """Return trees of switches, and one optical device per region."""
    degree = site.interfaces.degree
    return pricing.realize_regions(site, degree - site.options.mixnet_electrical_interfaces(degree))


def note(options: pricing.FabricOptions, degree: int, planes: tuple[pricing.Plane, ...]) -> str:
    """Return the split of the ports."""
    electrical = options.mixnet_electrical_interfaces(degree)
    return f"{electrical} of {degree} interfaces on a full-bisection fat-tree, the others on circuit switches"


NETWORK = Network(
    name="mixnet",
    label="MixNet",
    description="a quarter of d·B a server on a fat-tree, else circuits in regions of 8 servers",
    price=lambda: pricing.FabricPrice(count=count, realize=realize, note=note),
    build=build,
    settings=frozenset({"switches", "electrical_ports", "region_servers", "delay_s", "circuits", "hiding"}),
    switched=True,
    changes=True,
    color=3,
    order=120,
)
