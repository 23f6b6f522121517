"""MixNet: a fat-tree of some ports of every server, and optical circuits inside regions for the others.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: 2 of 8 NICs electrical, regions of up to 64 accelerators.
"""

from typing import Any

from topoopt import finder
from topoopt.catalog import Network
from topoopt.pricing import (
    Accounting,
    Buying,
    Counted,
    FabricOptions,
    FabricPrice,
    Plane,
    Realization,
    Site,
    behind_circuit_switches,
    realize_regions,
    switched,
)


def build(request: Any) -> Any:
    """Return the electrical fat-tree, and the rule by which circuits follow the traffic."""
    return finder.mixnet(request)


def count(buying: Buying) -> Counted:
    """Return the parts of a fat-tree for the electrical ports, and of circuit switches for the others."""
    electrical = buying.options.mixnet_electrical_interfaces(buying.interfaces.degree)
    tree = switched(buying.of(electrical))
    return tree.plus(behind_circuit_switches(buying.of(buying.interfaces.degree - electrical)))


def realize(site: Site) -> Realization:
    """Return trees of switches, and one optical device per region."""
    degree = site.interfaces.degree
    return realize_regions(site, degree - site.options.mixnet_electrical_interfaces(degree))


def note(rule: Accounting, options: FabricOptions, degree: int, planes: tuple[Plane, ...]) -> str:
    """Return how the ports are split."""
    electrical = options.mixnet_electrical_interfaces(degree)
    return f"{electrical} of {degree} interfaces on a full-bisection fat-tree, the others on circuit switches"


NETWORK = Network(
    name="mixnet",
    label="MixNet",
    description="a quarter of d·B a server on a fat-tree, else circuits in regions of 8 servers",
    price=FabricPrice(count=count, realize=realize, note=note),
    build=build,
    settings=frozenset({"switches", "electrical_ports", "region_servers", "delay_s", "circuits", "hiding"}),
    switched=True,
    changes=True,
    color=3,
    order=120,
)
