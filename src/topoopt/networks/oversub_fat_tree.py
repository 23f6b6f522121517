"""The fat-tree that is oversubscribed above its first switches."""

from __future__ import annotations

from typing import Any

from topoopt import pricing, topologies
from topoopt.catalog import Network
from topoopt.networks import fat_tree

OVERSUBSCRIPTION = 2.0


def wire(*size: Any, oversubscription: float = OVERSUBSCRIPTION, **settings: Any) -> topologies.Topology:
    """Return the tree with one link per server, and fewer links above the first switch."""
    return fat_tree.wire(*size, oversubscription=oversubscription, **settings)


def count(buying: pricing.Buying) -> pricing.Counted:
    """Return the parts of trees with fewer links above the first switch."""
    return pricing.switched(buying, oversubscription=buying.options.oversubscription)


def realize(site: pricing.Site) -> pricing.Realization:
    """Return the trees that are bought, or one of the ratio that is chosen."""
    if site.planes:
        return pricing.realize_switches(site)
    ratio = site.options.oversubscription
    return pricing.realize_switches(site, pricing.fat_tree_size(site.interfaces.servers, site.tiers, ratio))


def note(options: pricing.FabricOptions, degree: int, planes: tuple[pricing.Plane, ...]) -> str:
    """Return the ratio."""
    return f"{options.oversubscription:g}:1 above the first switch"


NETWORK = Network(
    name="oversub-fat-tree",
    label="2:1 fat-tree",
    description="d·B a server, 2:1 above the first switch",
    price=lambda: pricing.FabricPrice(count=count, realize=realize, note=note),
    wire=wire,
    settings=frozenset({"switches", "arity", "oversubscription"}),
    oversubscription=OVERSUBSCRIPTION,
    switched=True,
    trunks=True,
    compared=True,
    color=4,
    order=50,
)
