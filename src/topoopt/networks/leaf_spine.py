"""Leaves and spines, in one pod or in several below a core."""

from __future__ import annotations

from topoopt import topologies
from topoopt.finder import network_of_planes

NETWORK = network_of_planes(
    topologies.leaf_spine,
    "leaf-spine",
    "Leaf-spine",
    "leaves and spines, several pods below a core",
    settings={"leaf_servers", "oversubscription", "pod_servers", "pod_oversubscription"},
    order=45,
)
