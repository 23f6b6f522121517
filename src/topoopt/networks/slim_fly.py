"""Slim Fly: switches of diameter 2, with as many cables as the graph of McKay, Miller and Širáň."""

from __future__ import annotations

from topoopt import topologies
from topoopt.finder import network_of_planes

NETWORK = network_of_planes(
    topologies.slim_fly_plane,
    "slim-fly",
    "Slim Fly",
    "switches at most two hops apart, the McKay-Miller-Širáň graph",
    settings={"q"},
    order=63,
)
