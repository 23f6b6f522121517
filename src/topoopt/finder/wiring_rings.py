"""The rings of all servers of a wiring: its own where they use all links, else what a search finds."""

from dataclasses import replace
from functools import lru_cache

from topoopt.finder.rings import lay_rings
from topoopt.routing import ROUTING
from topoopt.topologies import DirectWiring, Ring
from topoopt.workloads import Traffic


def rings_of_wiring(wiring: DirectWiring, traffic: Traffic, seed: int) -> tuple[Ring, ...]:
    """Return the rings over which an AllReduce of all servers is split equally; none where there is none."""
    if wiring.rings_fill_links:
        return wiring.split_rings()
    everyone = tuple(range(traffic.servers))
    reduced = any(group.members == everyone for group in traffic.allreduce)
    return _searched(wiring, seed) if reduced else ()


def all_rings(wiring: DirectWiring, seed: int) -> tuple[Ring, ...]:
    """Return the rings of all servers, also where it is not known whether they are needed."""
    return wiring.split_rings() if wiring.rings_fill_links else _searched(wiring, seed)


@lru_cache(maxsize=64)
def _searched(wiring: DirectWiring, seed: int) -> tuple[Ring, ...]:
    # As no circulant: strides that make rings are not all that there is where others make rings together.
    topology = replace(wiring.topology(), family=f"{wiring.family} wiring", offsets=())
    routes = ROUTING["k-shortest"](topology, seed)
    return lay_rings(topology, routes, range(wiring.servers), wiring.degree, seed)
