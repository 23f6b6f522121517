"""Why a plan is above its bound: the part of the wiring, of the routes, of the schedule, and of many small messages.

Constraints are taken away one after the other, and each part is what the iteration gains: first what a message costs
beside its bytes (*rounds*, by a simulation), then that anything waits, for another or for a turn, so that every link is
busy from the moment on at which it has something to send (*schedule*), then these routes (*routing*), then this wiring
(*wiring*), until the bound of all wirings is left. So the parts add up to the gap. In another order they would be
others: what a better routing gains under this schedule, say, is not what it gains where nothing waits.
"""

from itertools import pairwise

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job
from topoopt.plans import Bounds, GapParts
from topoopt.routing import Fabric
from topoopt.search.demands import Demands, demands
from topoopt.search.windows import windows
from topoopt.search.wiring_bounds import wiring_bounds
from topoopt.search.worth import asked_for
from topoopt.simulation import SimResult, SimulationOptions, TaskGraph, make_flows, time_without_rounds_s
from topoopt.workloads.strategy import ParallelStrategy


def gap_parts(
    job: Job,
    strategy: ParallelStrategy,
    fabric: Fabric,
    result: SimResult,
    bounds: Bounds,
    optimal_load_s: float = 0.0,
) -> GapParts | None:
    """Return the parts of the gap between an iteration and its bound.

    None where the time comes of another simulator than ``analytic``, of several iterations, or circuits change: there
    is nothing to take away from these step by step.

    Parameters
    ----------
    optimal_load_s : float, optional
        Seconds that the busiest link needs with the best routes, or less; where it is 0, which means unknown, all that
        these routes need beyond the shortest paths counts as routing.
    """
    if result.simulator != "analytic" or result.graph.iterations > 1 or fabric.reconfiguration is not None:
        return None
    cluster, asked = job.cluster, asked_for(job, strategy, result)
    moved = demands(asked, cluster, windows(asked, cluster))
    left = result.left_out
    known_s = optimal_load_s if left is None else 0.0  # of all rounds together, not of those simulated
    steps = _times(cluster, fabric, moved, result.graph, result.options, known_s)
    if left is not None:  # what a round adds, it adds again
        shorter = demands(left.shorter, cluster, windows(left.shorter, cluster))
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
    """Return the differences of the steps, none of which may rise above the one before or fall below the bound.

    First come, first served is no law of nature: without rounds another transfer may come first, and all end later.
    Then rounds cost nothing, and what waits is counted as waiting.
    """
    levels = [iteration_time_s]
    for seconds in (*steps, bound_s):
        levels.append(min(max(seconds, bound_s), levels[-1]))
    rounds_s, schedule_s, routing_s, wiring_s = (above - below for above, below in pairwise(levels))
    return GapParts(wiring_s, routing_s, schedule_s, rounds_s)
