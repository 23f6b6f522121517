"""How servers forward so that packets follow a plan's routes: by destination alone where that does it."""

from dataclasses import dataclass
from itertools import pairwise

from topoopt.routing import ExplicitRoutes, Path, Routes, explicit_routes
from topoopt.topology import Topology


@dataclass(frozen=True, slots=True, order=True)
class Hop:
    """To which neighbor a server hands packets for another one; ``source`` None: whoever has sent them."""

    server: int
    destination: int
    source: int | None
    neighbor: int


def single_paths(topology: Topology, routes: Routes) -> ExplicitRoutes:
    """Return routes of one path a pair: that of the largest weight, the first of several.

    A connection is on one path in the kernel, and a program such as gloo opens one a pair.
    """
    return explicit_routes(topology, (_main_path(routes, src, dst) for src, dst in _pairs(topology.servers)))


def followed(topology: Topology, routes: Routes) -> tuple[str, str, tuple[Hop, ...]]:
    """Return ``destination`` or ``source``, why, and who hands what to whom.

    By destination works if no server has two neighbors for packets to one destination. Else every server looks at
    who has sent a packet, too.
    """
    by_pair: dict[tuple[int, int], dict[int, int]] = {}
    for src, dst in _pairs(topology.servers):
        nodes = _main_path(routes, src, dst).nodes
        for at, to in pairwise(nodes):
            by_pair.setdefault((at, dst), {})[src] = to
    for (server, dst), neighbors in sorted(by_pair.items()):
        if len(set(neighbors.values())) > 1:
            hops = [
                Hop(at, to, None if src == at else src, neighbor)
                for (at, to), by_source in by_pair.items()
                for src, neighbor in by_source.items()
            ]
            why = f"server {server} hands packets to {dst} to {len(set(neighbors.values()))} neighbors, by their source"
            return "source", why, tuple(sorted(hops, key=_order))
    hops = [Hop(at, to, None, next(iter(neighbors.values()))) for (at, to), neighbors in by_pair.items()]
    return (
        "destination",
        "every server has one neighbor for each destination",
        tuple(sorted(hops, key=_order)),
    )


def _order(hop: Hop) -> tuple[int, int, int]:
    return hop.server, hop.destination, -1 if hop.source is None else hop.source


def _main_path(routes: Routes, src: int, dst: int) -> Path:
    return Path(max(routes.paths(src, dst), key=lambda path: path.weight).nodes)


def _pairs(servers: int) -> list[tuple[int, int]]:
    return [(src, dst) for src in range(servers) for dst in range(servers) if src != dst]
