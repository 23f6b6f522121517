"""Layouts of a small job that the closed form ranks too low: where simulating is cheap, more of them are wired.

The closed form knows one switch, or how far servers are from each other on the average. It does not know whose bytes
meet on which links, so that of a job of some servers the best layout may stand behind those that get a network of their
own. Those that are much slower in closed form than the best of the others is on its own network are not looked at.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf

from topoopt.catalog import ClusterSpec
from topoopt.finder import LAYOUT_SPLITS, USUAL_RULES, find_topology
from topoopt.jobs import Layout
from topoopt.search.worth import with_rings
from topoopt.simulation import analytic_flows, free_time_s, pipeline_task_graph, simulate
from topoopt.workloads.pipelined_step import PipelinedStep

MOST_FLOWS = 1_000_000
"""Flows that are simulated at most to look further, a few seconds of CPU time; larger jobs are left as they are."""

BETTER = 0.999
"""Of the time of the best, what a layout takes at most that is worth a place beside it."""

TOO_SLOW = 1.6
"""Times the best, up to which a layout is looked at: of 30 small jobs of which all were simulated, the closed
form of the best was 1.57 times what it took at most."""

MOST_WIRED = 32
"""Layouts that are wired to look further."""


def overlooked(
    cluster: ClusterSpec,
    chosen: Sequence[Layout],
    others: Iterable[tuple[float, Callable[[], Sequence[Layout]]]],
    weight: Callable[[Layout, float], float],
) -> list[Layout]:
    """Return the layouts, in all their orders, of the configuration that is faster than all chosen; none if none is.

    Parameters
    ----------
    others : iterable of (seconds in closed form, function that lays it out)
        Configurations that were not chosen, the fastest first.
    weight : function of a layout and its seconds
        By which layouts are compared.
    """
    left = MOST_FLOWS - sum(analytic_flows(layout.step) for layout in chosen)
    if left <= 0:
        return []
    best_s = min(weight(layout, wired_time_s(cluster, layout.step)) for layout in chosen)
    found, wired = list[Layout](), 0
    for closed_form_s, laid_out in others:
        if closed_form_s >= TOO_SLOW * best_s or wired >= MOST_WIRED:
            break
        layouts = [layout for layout in laid_out() if free_time_s(layout.step) < BETTER * best_s]
        left -= sum(analytic_flows(layout.step) for layout in layouts)
        wired += len(layouts)
        if left < 0:
            break
        times_s = [weight(layout, wired_time_s(cluster, layout.step)) for layout in layouts]
        time_s = min(times_s, default=inf)
        if time_s < BETTER * best_s:
            best_s, found = time_s, list(layouts)
    return found


def wired_time_s(cluster: ClusterSpec, step: PipelinedStep) -> float:
    """Return how long a step takes on the best network that is wired for it."""
    graph, times_s = pipeline_task_graph(step), list[float]()
    for split in LAYOUT_SPLITS:
        fabric = find_topology(
            step.traffic,
            degree=cluster.degree,
            bandwidth_bps=cluster.link_bandwidth_bps,
            latency_s=cluster.link_latency_s,
            links=cluster.links,
            rules=replace(USUAL_RULES, degree_split=split),
            seed=0,
        )
        ready = with_rings(fabric, step.traffic, cluster.degree, 0)
        times_s.append(simulate("analytic", graph, ready).iteration_time_s)
    return min(times_s)
