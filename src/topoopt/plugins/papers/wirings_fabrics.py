"""The wirings that the study "beyond strides" compares: all interfaces of all servers in one, for every job alike."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from topoopt.finder import STRIDES, FabricRequest, build_fabric
from topoopt.routing import Fabric, make_routes
from topoopt.topologies import wiring_of_arcs
from topoopt.topologies.wirings import JudgedWiring, WiringRequest, judged, search_wirings

EXPANDER, TORUS, LIFTED = "expander", "torus", "lifted"
IDEAL, TREE = "ideal switch", "fat-tree, d·B/3.2"


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a wiring: servers, interfaces and bandwidth.

    Attributes
    ----------
    search_s : float
        Seconds of search for a lifted wiring, counted in work done; 0 chooses.
    """

    servers: int
    degree: int
    bandwidth_bps: float
    search_s: float = 0.0


@cache
def wired(name: str, size: Size, seed: int) -> Fabric:
    """Return a fabric of the study by its name, with the rings of all servers."""
    return WIRED[name](size, seed)


def reach(fabric: Fabric) -> JudgedWiring:
    """Return hops and loads of links from server to server."""
    topology = fabric.topology
    ports = len(topology) // topology.servers
    arcs = topology.src.astype(np.int64), topology.dst.astype(np.int64)
    return judged(wiring_of_arcs(fabric.name, "duplex", topology.servers, ports, arcs))


def _built(name: str) -> Callable[[Size, int], Fabric]:
    """Return the builder of a fabric of the table, with rings laid for everybody."""

    def build(size: Size, seed: int) -> Fabric:
        everyone = (tuple(range(size.servers)),)
        request = FabricRequest(size.servers, size.degree, size.bandwidth_bps, everyone, seed=seed)
        return build_fabric(name, request)

    return build


def _lifted(size: Size, seed: int) -> Fabric:
    """Return the union of Hamiltonian cycles whose fullest link is the emptiest; its rings are those it is made of."""
    request = WiringRequest(
        size.servers, size.degree, family=LIFTED, objective="balanced", seed=seed, budget_s=size.search_s
    )
    wiring = search_wirings(request).chosen.wiring
    rings = wiring.split_rings()
    topology = replace(wiring.topology(size.bandwidth_bps), rings=rings)
    return Fabric(LIFTED, topology, make_routes("ecmp", topology, seed), {tuple(range(size.servers)): rings})


WIRED: Mapping[str, Callable[[Size, int], Fabric]] = {
    STRIDES: _built("topoopt"),
    EXPANDER: _built("expander"),
    TORUS: _built("torus"),
    LIFTED: _lifted,
    IDEAL: _built("ideal-switch"),
    TREE: _built("fat-tree"),
}
"""Builders by name. ``strides`` are those of least diameter and hops among strides coprime to the servers."""
DIRECT = (STRIDES, EXPANDER, TORUS, LIFTED)
"""Fabrics without switches: servers relay, and routes can be balanced."""
