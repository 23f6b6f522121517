"""Search of deployments: screen all in closed form, simulate the best, and place them on fabrics."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from topoopt.base.answers import Progress
from topoopt.base.errors import Infeasible
from topoopt.inference.fabric_comparison import ServedFabric
from topoopt.inference.requests import Objectives
from topoopt.inference.search.answer import RELIEFS, Relief, ServingAnswer, faster_network, relieved
from topoopt.inference.search.candidates import candidates, pareto_front
from topoopt.inference.search.closed_form import splits_of
from topoopt.inference.search.fabric_choice import OnOneFabric, fleet_on_fabric, on_fabrics
from topoopt.inference.search.goodput import (
    EXACT,
    MOST_BISECTED,
    Binding,
    Evaluated,
    FleetAt,
    evaluated,
    first_requests,
    goodput,
    stable_rate,
    what_binds,
)
from topoopt.inference.search.question import Question
from topoopt.inference.simulator import Fleet, ServingRun, simulate_serving
from topoopt.inference.simulator.kernel.layout import Clock

BINDS = 0.03
"""Relative gain in goodput that is distinguishable from the 1 % accuracy of goodputs."""
NOISE = 1.02
"""Tolerance of a rate that is found by simulation."""


def serve(question: Question, on_progress: Progress) -> ServingAnswer:
    """Return the best deployments, and of several servers the best on each fabric.

    Raises
    ------
    Infeasible
        If nothing fits, no deployment meets the objectives, or none keeps up with the rate; with the possible
        values.
    """
    demand, machine, limits = question.demand, question.machine, question.limits
    answerers = splits_of(machine, question.fixed, demand.most_tokens)
    readers = splits_of(machine, question.fixed_prefill, demand.most_tokens)
    if question.fixed_prefill == question.fixed:
        readers = answerers
    found = candidates(readers, answerers, demand, question.objectives, machine.settings, limits)
    front = pareto_front(readers, answerers, demand, machine.settings, limits)
    modes = dict.fromkeys(one.deployment.mode for one in found)
    chosen = [
        one for mode in modes for one in [one for one in found if one.deployment.mode == mode][: question.top]
    ]
    simulated = []
    for place, one in enumerate(chosen):
        on_progress("simulating deployments", place, len(chosen))
        simulated.append(evaluated(demand, question.objectives, one, _always(question.fleet(one))))
    simulated.sort(key=lambda one: (-one.goodput_per_s, -one.run.output_tokens_per_s))
    best = max(simulated, key=lambda one: one.stable_per_s)
    rate, stable = question.demand.rate_per_s, best.stable_per_s
    if rate is not None and rate > NOISE * stable:
        raise Infeasible(
            f"rate {rate * question.cells:g}/s: more than {question.accelerators} accelerators keep up with; the "
            f"largest that is stable is {stable * question.cells:.3g}/s, with {best.words}{question.in_each}"
        )
    if simulated[0].goodput_per_s == 0:
        near = max(simulated, key=lambda one: one.run.attainment(question.objectives))
        at = "" if rate is None else f"at {rate:g}/s "
        raise Infeasible(
            f"slo_share {question.objectives.share:g}: at no rate do so many requests meet both objectives; "
            f"{at}{near.run.attainment(question.objectives):.1%} do, with {near.words}"
        )
    rows: tuple[OnOneFabric, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    if question.network is not None:
        rows, skipped = on_fabrics(question, question.network, found, simulated, on_progress)
    answer = ServingAnswer(question, tuple(simulated), front, len(answerers), len(found), rows, skipped)
    on_progress("what binds", 0, 1)
    return _with_gains(answer)


def _with_gains(answer: ServingAnswer) -> ServingAnswer:
    """Return an answer with the gain from doubling each resource; with several servers, on the best fabric."""
    question, winner = answer.question, answer.winner
    if winner is not None:
        known = replace(winner, evaluated=measured(question, winner.evaluated, winner.served))
        return replace(answer, fabrics=tuple(known if row is winner else row for row in answer.fabrics))
    first: dict[str, Evaluated] = {}
    for one in answer.deployments:
        first.setdefault(one.candidate.deployment.mode, one)
    best = list(first.values())
    return replace(
        answer,
        deployments=tuple(measured(question, one) if one in best else one for one in answer.deployments),
    )


def _always(fleet: Fleet) -> Callable[[float], Fleet]:
    return lambda rate_per_s: fleet


def measured(question: Question, found: Evaluated, row: ServedFabric | None = None) -> Evaluated:
    """Return a deployment, on a fabric or in a server, with the gain from doubling each resource."""
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
    return fleet_on_fabric(fleet, way, question)


def measured_binding(
    run: ServingRun,
    objectives: Objectives,
    fleet_of: Mapping[str, FleetAt],
    gain_of: Callable[[FleetAt], float],
) -> Binding:
    """Return the bottleneck: the resource whose doubling raises the goodput most; the queue if none does.

    Parameters
    ----------
    run
        Run at the goodput.
    fleet_of
        The deployment with twice as much, by resource.
    gain_of
        Returns the relative gain of a fleet's goodput.
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
        return Binding("queue", f"{because}; doubling no resource gains {BINDS:.0%}", gains)
    because = f"; {why.words}" if why.what == most else ""
    return Binding(most, f"{words[most]} gives {gains[most]:.0%} more requests per second{because}", gains)


def _short_of_pages(run: ServingRun) -> bool:
    """Return whether caches have ever filled a memory; else more of it changes nothing."""
    return run.seconds(Clock.NO_PAGE) > 0 or bool(run.preempted.any())
