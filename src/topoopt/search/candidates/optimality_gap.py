"""Breakdown of the gap between a plan and its bound: wiring, routes, schedule, and many small messages.

Constraints are removed one after the other, and each part is the gain of the iteration: first the cost of messages
beyond their bytes (*rounds*, by a simulation), then all waiting for others or for a turn, so that every link is
busy from the moment it has something to send (*schedule*), then these routes (*routing*), then this wiring
(*wiring*), which leaves the bound over all wirings. So the parts add up to the gap. In another order they would
differ: the gain of better routing under this schedule is not its gain without waiting.

The bounds of an iteration on one wiring, with any routes and with its own, are those of
:mod:`topoopt.search.bounds.lower_bound`, with the wiring's own figures in place of limits over all wirings: hops
of its shortest paths, interfaces in use, rings of its groups, and the bytes on each link.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job
from topoopt.plans import Bounds, GapParts
from topoopt.routing import Fabric
from topoopt.search.bounds.lower_bound import LARGEST_TABLE, Demands, demands, injection_bound_s
from topoopt.search.bounds.transfer_windows import ALL_TO_ALL, Windows, windows
from topoopt.search.candidates.candidate import asked_for
from topoopt.simulation import (
    COLLECTIVE,
    Flows,
    SimResult,
    SimulationOptions,
    TaskGraph,
    make_flows,
    time_without_rounds_s,
)
from topoopt.topologies import Topology, hops_from
from topoopt.workloads import ParallelStrategy


@dataclass(frozen=True, slots=True)
class WiringBounds:
    """Lower bounds of an iteration on a wiring.

    Attributes
    ----------
    any_routes_s : float
        Bound with its rings, and any routes.
    own_routes_s : float
        Bound with its rings and its routes, every link busy from the moment it has something to send.
    """

    any_routes_s: float
    own_routes_s: float


def gap_parts(
    job: Job,
    strategy: ParallelStrategy,
    fabric: Fabric,
    result: SimResult,
    bounds: Bounds,
    optimal_load_s: float = 0.0,
) -> GapParts | None:
    """Return the parts of the gap between an iteration and its bound.

    None if the time is not of ``analytic``, is of several iterations or not of all replicas, or circuits change: there
    is nothing to take away from these step by step.

    Parameters
    ----------
    optimal_load_s : float, optional
        Seconds that the busiest link needs with the best routes, or less; where it is 0, which means unknown, all that
        these routes need beyond the shortest paths counts as routing.
    """
    if result.simulator != "analytic" or result.graph.iterations > 1 or fabric.reconfiguration is not None:
        return None
    folded = result.folded
    if folded is not None and not folded.exact:
        return None
    cluster, asked = job.cluster, asked_for(job, strategy, result)
    moved = demands(asked, cluster, windows(asked, cluster), folded=folded)
    left = result.left_out
    known_s = optimal_load_s if left is None else 0.0  # of all rounds together, not of those simulated
    steps = _times(cluster, fabric, moved, result.graph, result.options, known_s)
    if left is not None:  # what a round adds, it adds again
        shorter = demands(left.shorter, cluster, windows(left.shorter, cluster), folded=folded)
        before = _times(cluster, fabric, shorter, left.shorter, result.options, 0.0)
        steps = tuple(
            here + left.rounds * max(here - less, 0.0) for here, less in zip(steps, before, strict=True)
        )
    return _parts(result.iteration_time_s, steps, bounds.lower_bound_s)


def _times(
    cluster: ClusterSpec,
    fabric: Fabric,
    moved: Demands,
    run: TaskGraph,
    options: SimulationOptions,
    optimal_load_s: float,
) -> tuple[float, ...]:
    """Return the seconds without rounds, with these routes, and with this wiring; ``run`` was simulated."""
    flows = make_flows(run, fabric, options)
    least = wiring_bounds(fabric, moved, (run, windows(run, cluster), flows), optimal_load_s)
    return time_without_rounds_s(run, fabric, flows), least.own_routes_s, least.any_routes_s


def _parts(iteration_time_s: float, steps: tuple[float, ...], bound_s: float) -> GapParts:
    """Return the differences of the steps, made monotone and not below the bound.

    First come, first served is not monotone: without rounds another transfer may come first, and everything end
    later. Then rounds cost nothing, and the difference counts as waiting.
    """
    levels = [iteration_time_s]
    for seconds in (*steps, bound_s):
        levels.append(min(max(seconds, bound_s), levels[-1]))
    rounds_s, schedule_s, routing_s, wiring_s = (above - below for above, below in pairwise(levels))
    return GapParts(wiring_s, routing_s, schedule_s, rounds_s)


def wiring_bounds(
    fabric: Fabric, moved: Demands, run: tuple[TaskGraph, Windows, Flows], optimal_load_s: float = 0.0
) -> WiringBounds:
    """Return the bounds on a fabric whose links stay.

    Parameters
    ----------
    moved : Demands
        Demands of the strategy's task graph.
    run : tuple
        The graph that was simulated, in which collectives may have become transfers, its windows and its flows.
    optimal_load_s : float, optional
        Seconds that the busiest link needs for all bytes of the iteration with the best routes beside these rings, or
        less; 0 where unknown.
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
    source, row = np.unique(moved.src, return_inverse=True)
    by_cell = np.zeros(moved.grid.cells)
    if len(source):
        hops = hops_from(topology, source)[row, moved.dst]
        by_cell = moved.grid.summed(moved.cell, moved.all_bytes * hops)
    total: Floats = (moved.grid.sets(by_cell) + moved.collective_sets) / (topology.bandwidth_bps.sum() / 8)
    any_s = max(
        float(grid.times_s(best_s).max(initial=0.0)),
        float(grid.times_s(total).max(initial=0.0)),
        injection_bound_s(moved, out, heard),
    )
    return WiringBounds(any_s, max(float(grid.times_s(busiest_s).max(initial=0.0)), any_s))


def _bytes_per_s(topology: Topology, end: NDArray[np.int32]) -> Floats:
    """Return the total rate of the links out of each server, or into it, bytes/s."""
    total = np.bincount(end, topology.bandwidth_bps / 8, minlength=topology.nodes)
    return total[: topology.servers].astype(np.float64, copy=False)


def _links_of_classes(flows: Flows, links: int) -> Any:
    """Return the bytes on each link for a byte of each class, a sparse array of shape (classes, links)."""
    from scipy import sparse  # noqa: PLC0415 - slow to import

    shape = len(flows.class_first) - 1, links
    return sparse.csr_array((flows.class_coefficient, flows.class_link, flows.class_first), shape=shape)


def _by_link(
    flows: Flows, cell: NDArray[np.int64], cells: int, links: Any, chosen: NDArray[np.bool_] | None
) -> Any:
    """Return the bytes of each cell, of all flows or of some, on each link: sparse, shape (cells, links)."""
    from scipy import sparse  # noqa: PLC0415 - slow to import

    part = slice(None) if chosen is None else chosen
    place, size = (cell[part], flows.flow_class[part]), flows.payload_bytes[part]
    return sparse.csr_array((size, place), shape=(cells, links.shape[0])) @ links
