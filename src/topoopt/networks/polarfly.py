"""PolarFly: switches of diameter 2 that are the points of a projective plane."""

from __future__ import annotations

from topoopt import topologies
from topoopt.finder import network_of_planes

NETWORK = network_of_planes(
    topologies.polarfly,
    "polarfly",
    "PolarFly",
    "switches at most two hops apart, the Erdős-Rényi polarity graph",
    settings={"q"},
    order=64,
)
