"""Dragonfly+: groups of leaves and spines, whose spines join the groups."""

from __future__ import annotations

from topoopt import topologies
from topoopt.finder import network_of_planes

NETWORK = network_of_planes(
    topologies.dragonfly_plus,
    "dragonfly-plus",
    "Dragonfly+",
    "groups of leaves and spines, joined by their spines",
    settings={"radix"},
    order=62,
)
