"""The dragonfly: groups of switches, each pair of groups joined by a cable or more."""

from __future__ import annotations

from topoopt import topologies
from topoopt.finder import network_of_planes

NETWORK = network_of_planes(
    topologies.dragonfly,
    "dragonfly",
    "Dragonfly",
    "groups of switches joined all to all, in and between groups",
    settings={"per_switch"},
    order=61,
)
