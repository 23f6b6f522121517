"""The table of routing methods: name → function(topology, seed) → Routes."""

from collections.abc import Callable, Mapping

from topoopt.base.errors import check_known
from topoopt.routing.coin_routes import CoinChangeRoutes
from topoopt.routing.ecmp import EcmpRoutes
from topoopt.routing.k_shortest import KShortestRoutes, SingleShortestRoutes
from topoopt.routing.routes import Routes
from topoopt.topologies import Topology

ROUTING: Mapping[str, Callable[[Topology, int], Routes]] = {
    "coin-change": lambda topology, seed: CoinChangeRoutes(topology, seed=seed),
    "k-shortest": lambda topology, seed: KShortestRoutes(topology, seed=seed),
    "ecmp": lambda topology, seed: EcmpRoutes(topology, seed=seed),
    "single-shortest": lambda topology, seed: SingleShortestRoutes(topology),
}
"""Routing methods by name, each from a topology and a seed to routes."""


def make_routes(name: str, topology: Topology, seed: int = 0) -> Routes:
    """Return the routes of a topology by the name of the method.

    Raises
    ------
    InvalidInput
        If the name is unknown, or the method does not suit the topology.
    """
    check_known("routing", name, ROUTING)
    return ROUTING[name](topology, seed)
