"""Bounds of an iteration on one wiring: whatever its routes, and with the routes that it has.

They are those of :mod:`topoopt.search.bounds`, with what is known of the wiring in the place of what any could be: hops
of its shortest paths, interfaces in use, the rings that its groups have, and of each link the bytes that cross it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topoopt.routing import Fabric
from topoopt.search.bounds import LARGEST_TABLE, injection_bound_s
from topoopt.search.demands import Demands
from topoopt.search.windows import ALL_TO_ALL, Windows
from topoopt.simulate import COLLECTIVE, Flows, TaskGraph
from topoopt.topology import Topology, hops_from

Floats = NDArray[np.float64]


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
    topology, grid = fabric.topology, moved.grid
    graph, found, flows = run
    task = np.repeat(np.arange(len(graph)), np.diff(flows.task_flow))
    cell = grid.cell(found.release_s[task], found.tail_s[task])
    on_rings = (graph.kind[task] == COLLECTIVE) & (graph.collective[task] != ALL_TO_ALL)
    shape = len(topology), grid.cells
    every, rings = _crossed(flows, cell, shape), _crossed(flows, cell, shape, on_rings)
    busiest_s, ring_s, others_s = np.zeros((3, grid.cells))
    step = max(LARGEST_TABLE // grid.cells, 1)
    for first in range(0, len(topology), step):
        links = slice(first, first + step)
        s_per_byte = 8.0 / topology.bandwidth_bps[links, None]
        link_s = grid.sets(every(links) * s_per_byte)
        busiest_s = np.maximum(busiest_s, link_s.max(axis=0))
        ring_s = np.maximum(ring_s, grid.sets(rings(links) * s_per_byte).max(axis=0))
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


def _crossed(
    flows: Flows, cell: NDArray[np.int64], shape: tuple[int, int], chosen: NDArray[np.bool_] | None = None
) -> Callable[[slice], Floats]:
    """Return what tells the bytes of each cell on some links, of all of this ``shape``: (links, cells)."""
    classes, (links, cells) = len(flows.class_first) - 1, shape
    row, column, size = flows.flow_class, cell, flows.payload_bytes
    if chosen is not None:
        row, column, size = row[chosen], column[chosen], size[chosen]
    by_class = sparse.csr_array((size, (row, column)), shape=(classes, cells))
    owner = np.repeat(np.arange(classes), np.diff(flows.class_first))
    crossed = sparse.csr_array((flows.class_coefficient, (flows.class_link, owner)), shape=(links, classes))
    return lambda rows: (crossed[rows] @ by_class).toarray()


def _hop_seconds(topology: Topology, moved: Demands) -> Floats:
    """Return the seconds that all links together need for each set, every transfer on a shortest path."""
    source, row = np.unique(moved.src, return_inverse=True)
    by_cell = np.zeros(moved.grid.cells)
    if len(source):
        hops = hops_from(topology, source)[row, moved.dst]
        by_cell = moved.grid.summed(moved.cell, moved.size_bytes * hops)
    total: Floats = (moved.grid.sets(by_cell) + moved.collective_sets) / (topology.bandwidth_bps.sum() / 8)
    return total
