"""What binds, measured: the goodput with twice as much of one resource, over that with what there is."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from topoopt.inference.fabrics.compared import ServedFabric
from topoopt.inference.objectives import Objectives
from topoopt.inference.search.binding import Binding, what_binds
from topoopt.inference.search.evaluated import MOST_BISECTED, Evaluated, FleetAt, first_requests, stable_rate
from topoopt.inference.search.fabric_fleet import on_fabric
from topoopt.inference.search.goodput import EXACT, goodput
from topoopt.inference.search.question import Question
from topoopt.inference.search.relief import RELIEFS, Relief, faster_network, relieved
from topoopt.inference.simulator import Fleet, ServingRun, simulate_serving
from topoopt.inference.simulator.kernel.layout import Clock

BINDS = 0.03
"""Of the goodput, from which on more of a resource is told from the 1 % up to which goodputs are found."""


def measured(question: Question, found: Evaluated, row: ServedFabric | None = None) -> Evaluated:
    """Return a deployment, on a fabric or in a server, with what twice as much of each resource is worth."""
    demand, best = question.demand, found.goodput_per_s
    if best <= 0:
        return found
    few, one = first_requests(demand, MOST_BISECTED), found.candidate

    def gain(more: FleetAt) -> float:
        if demand.requests.clients:
            run = simulate_serving(more(best), demand.at(best))
            return len(run.requests) / run.end_s / best - 1
        at = best * (1 + 2 * EXACT)
        if simulate_serving(more(at), few.at(at)).attainment(question.objectives) < question.objectives.share:
            return 0.0
        rate = goodput(more, few, question.objectives, at)
        return (min(rate, stable_rate(one, more, few)) if rate > found.stable_per_s else rate) / best - 1

    fleets = {relief.what: _fleet_at(question, found, row, relief) for relief in RELIEFS}
    return replace(found, binding=measured_binding(found.at_goodput, question.objectives, fleets, gain))


def _fleet_at(question: Question, found: Evaluated, row: ServedFabric | None, relief: Relief) -> FleetAt:
    fleet = relieved(question, found.candidate, relief)
    if row is None:
        return lambda rate_per_s: fleet
    way = faster_network(row) if relief.sent > 1 else row
    return partial(_on, fleet, way, question)


def _on(fleet: Fleet, row: ServedFabric, question: Question, rate_per_s: float) -> Fleet:
    return on_fabric(fleet, row, rate_per_s, question.router, question.server_failures)


def measured_binding(
    run: ServingRun,
    objectives: Objectives,
    fleet_of: Mapping[str, FleetAt],
    gain_of: Callable[[FleetAt], float],
) -> Binding:
    """Return what binds: that of which twice as much raises the goodput most; a queue where nothing does.

    Parameters
    ----------
    run
        At the goodput.
    fleet_of
        The deployment with twice as much, by resource.
    gain_of
        Says by what share more the goodput of a fleet is.
    """
    gains = {
        what: 0.0 if what == "KV capacity" and not _short_of_pages(run) else max(gain_of(fleet), 0.0)
        for what, fleet in fleet_of.items()
    }
    why = what_binds(run, objectives)
    words = {relief.what: relief.words for relief in RELIEFS}
    most = max(gains, key=lambda what: gains[what])
    if gains[most] < BINDS:
        because = why.words if why.what == "queue" else "requests wait for each other"
        return Binding("queue", f"{because}; twice as much of no resource is worth {BINDS:.0%}", gains)
    because = f"; {why.words}" if why.what == most else ""
    return Binding(most, f"{words[most]} would be {gains[most]:.0%} more{because}", gains)


def _short_of_pages(run: ServingRun) -> bool:
    """Return whether caches have ever filled a memory; else more of it changes nothing."""
    return run.seconds(Clock.NO_PAGE) > 0 or bool(run.preempted.any())
