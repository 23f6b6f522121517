"""Bounds of an iteration on one wiring: whatever its routes, and with the routes that it has.

They are those of :mod:`topoopt.search.bounds`, with what is known of the wiring in the place of what any could be: hops
of its shortest paths, interfaces in use, the rings that its groups have, and of each link the bytes that cross it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topoopt.base.arrays import Floats
from topoopt.routing import Fabric
from topoopt.search.bounds import LARGEST_TABLE, injection_bound_s
from topoopt.search.demands import Demands
from topoopt.search.windows import ALL_TO_ALL, Windows
from topoopt.simulation import COLLECTIVE, Flows, TaskGraph
from topoopt.topologies import Topology, hops_from


@dataclass(frozen=True, slots=True)
class WiringBounds:
    """What an iteration takes at least on a wiring.

    Attributes
    ----------
    any_routes_s : float
        With its rings, and any routes.
    own_routes_s : float
        With its rings and its routes, every link busy from the moment on at which it has something to send.
    """

    any_routes_s: float
    own_routes_s: float


def wiring_bounds(
    fabric: Fabric, moved: Demands, run: tuple[TaskGraph, Windows, Flows], optimal_load_s: float = 0.0
) -> WiringBounds:
    """Return the bounds on a fabric whose links stay.

    Parameters
    ----------
    moved : Demands
        Of the strategy's task graph.
    run : tuple
        The graph that was simulated, in which collectives may have become transfers, its windows and its flows.
    optimal_load_s : float, optional
        Seconds that the busiest link needs for all bytes of the iteration with the best routes beside these rings, or
        less; 0 where nobody knows.
    """
    topology = fabric.topology
    graph, found, flows = run
    task = np.repeat(np.arange(len(graph)), np.diff(flows.task_flow))
    grid = moved.grid.reaching(found.release_s[task], found.tail_s[task])  # less is known of larger graphs
    moved = replace(moved, grid=grid)
    cell = grid.cell(found.release_s[task], found.tail_s[task])
    on_rings = (graph.kind[task] == COLLECTIVE) & (graph.collective[task] != ALL_TO_ALL)
    links = _links_of_classes(flows, len(topology))
    every, rings = (_by_link(flows, cell, grid.cells, links, some) for some in (None, on_rings))
    busiest_s, ring_s, others_s = np.zeros((3, grid.cells))
    step = max(LARGEST_TABLE // grid.cells, 1)
    for first in range(0, len(topology), step):
        here = slice(first, first + step)
        s_per_byte = 8.0 / topology.bandwidth_bps[here, None]
        link_s = grid.sets(every[:, here].toarray().T * s_per_byte)
        busiest_s = np.maximum(busiest_s, link_s.max(axis=0))
        ring_s = np.maximum(ring_s, grid.sets(rings[:, here].toarray().T * s_per_byte).max(axis=0))
        others_s = np.maximum(others_s, (link_s[:, :1] - link_s).max(axis=0))
    # what the best routes leave on the busiest link they leave for a set, but for what others may have there now
    best_s = np.minimum(np.maximum(ring_s, optimal_load_s - others_s), busiest_s)
    out, heard = (_bytes_per_s(topology, end) for end in (topology.src, topology.dst))
    any_s = max(
        float(grid.times_s(best_s).max(initial=0.0)),
        float(grid.times_s(_hop_seconds(topology, moved)).max(initial=0.0)),
        injection_bound_s(moved, out, heard),
    )
    return WiringBounds(any_s, max(float(grid.times_s(busiest_s).max(initial=0.0)), any_s))


def _bytes_per_s(topology: Topology, end: NDArray[np.int32]) -> Floats:
    """Return what the links out of each server, or into it, carry together."""
    total = np.bincount(end, topology.bandwidth_bps / 8, minlength=topology.nodes)
    return total[: topology.servers].astype(np.float64, copy=False)


def _links_of_classes(flows: Flows, links: int) -> Any:
    """Return the bytes on each link for a byte of each class, a sparse array of shape (classes, links)."""
    shape = len(flows.class_first) - 1, links
    return sparse.csr_array((flows.class_coefficient, flows.class_link, flows.class_first), shape=shape)


def _by_link(
    flows: Flows, cell: NDArray[np.int64], cells: int, links: Any, chosen: NDArray[np.bool_] | None
) -> Any:
    """Return the bytes of each cell, of all flows or of some, on each link: sparse, shape (cells, links)."""
    part = slice(None) if chosen is None else chosen
    place, size = (cell[part], flows.flow_class[part]), flows.payload_bytes[part]
    return sparse.csr_array((size, place), shape=(cells, links.shape[0])) @ links


def _hop_seconds(topology: Topology, moved: Demands) -> Floats:
    """Return the seconds that all links together need for each set, every transfer on a shortest path."""
    source, row = np.unique(moved.src, return_inverse=True)
    by_cell = np.zeros(moved.grid.cells)
    if len(source):
        hops = hops_from(topology, source)[row, moved.dst]
        by_cell = moved.grid.summed(moved.cell, moved.size_bytes * hops)
    total: Floats = (moved.grid.sets(by_cell) + moved.collective_sets) / (topology.bandwidth_bps.sum() / 8)
    return total
