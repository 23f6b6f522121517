"""From a question to an answer: screen every deployment in closed form, simulate the best, and say what binds."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from topoopt.errors import Infeasible
from topoopt.serving.search.answer import Evaluated, ServingAnswer
from topoopt.serving.search.binding import what_binds
from topoopt.serving.search.candidates import Candidate, candidates
from topoopt.serving.search.demand import Demand
from topoopt.serving.search.goodput import goodput
from topoopt.serving.search.pareto import pareto_front
from topoopt.serving.search.question import Question
from topoopt.serving.search.splits import splits_of
from topoopt.serving.simulator import Fleet, simulate_serving

Progress = Callable[[str, int, int], None]

MOST_BISECTED = 10_000
"""Requests by which goodput is found; more are simulated once, at the rate that is asked for."""

OVERLOAD = 1.25
"""Times the stable rate of closed forms, at which requests come where it is asked how many can be answered."""

LONG, MOST_REPEATED = 8, 100_000
"""Times of a request for which they come then; and how many of them at most."""

KEPT_UP, MOST_DOUBLINGS = 0.95, 8
"""Share of the rate that is answered, from which there is no overload; then twice as many come."""

NOISE = 1.02
"""Of a rate that is found by simulation."""


def serve(question: Question, on_progress: Progress) -> ServingAnswer:
    """Return the best deployments, the one of the highest goodput first.

    Raises
    ------
    Infeasible
        If nothing fits, no deployment meets the objectives, or none keeps up with the rate; with what is possible.
    """
    demand, machine, limits = question.demand, question.machine, question.limits
    answerers = splits_of(machine, question.fixed, demand.most_tokens)
    readers = splits_of(machine, question.fixed_prefill, demand.most_tokens)
    if question.fixed_prefill == question.fixed:
        readers = answerers
    found = candidates(readers, answerers, demand, question.objectives, machine.settings, limits)
    front = pareto_front(readers, answerers, demand, machine.settings, limits.modes, limits.max_batch)
    chosen = _promising(found, question.top)
    evaluated = []
    for place, one in enumerate(chosen):
        on_progress("simulating deployments", place, len(chosen))
        evaluated.append(_evaluate(question, one))
    evaluated.sort(key=lambda one: (-one.goodput_per_s, -one.output_tokens_per_s))
    _check_rate(question, evaluated)
    return ServingAnswer(question, tuple(evaluated), front, len(answerers), len(found))


def _promising(found: list[Candidate], top: int) -> list[Candidate]:
    """Return the best of each mode."""
    modes = dict.fromkeys(one.deployment.mode for one in found)
    return [one for mode in modes for one in [one for one in found if one.deployment.mode == mode][:top]]


def _evaluate(question: Question, one: Candidate) -> Evaluated:
    demand, fleet = question.demand, question.fleet(one)
    run = simulate_serving(fleet, demand.at(demand.rate_per_s))
    if demand.requests.clients:
        met = run.attainment(question.objectives) >= question.objectives.share
        rate = len(run.requests) / run.end_s
        return Evaluated(one, run, run, rate if met else 0.0, rate, what_binds(run, question.objectives))
    few = _first(demand, MOST_BISECTED)
    stable = _stable(one, fleet, few)
    best = min(goodput(fleet, few, question.objectives, one.rate_per_s), stable)
    there = simulate_serving(fleet, few.at(best or one.rate_per_s))
    return Evaluated(one, run, there, best, stable, what_binds(there, question.objectives))


def _stable(one: Candidate, fleet: Fleet, demand: Demand) -> float:
    """Return the requests a second that are answered while more come than can be.

    Closed forms know no prefixes that are cached; where all are answered in time, more come the next time. What would
    take too many requests to see, of hundreds of replicas, is left to the closed form.
    """
    rate = OVERLOAD * one.stable_per_s
    if rate * LONG * (one.ttft_s + demand.answer * one.tpot_s) > MOST_REPEATED:
        return one.stable_per_s
    for _ in range(MOST_DOUBLINGS):
        answered = _answered_per_s(one, fleet, demand, rate)
        if answered < KEPT_UP * rate:
            break
        rate *= 2
    return answered


def _answered_per_s(one: Candidate, fleet: Fleet, demand: Demand, rate_per_s: float) -> float:
    """Return the answers in the second half of the time in which requests come, long beside what a request takes."""
    long_s = LONG * (one.ttft_s + demand.answer * one.tpot_s)
    count = len(demand.requests)
    times = min(int(np.ceil(rate_per_s * long_s / count)), MOST_REPEATED // count)
    requests = replace(demand, requests=demand.requests.repeated(max(times, 1))).at(rate_per_s)
    run = simulate_serving(replace(fleet, failures=()), requests)
    end_s = float(requests.arrival_s[-1])
    answered = ((run.answered_s > end_s / 2) & (run.answered_s <= end_s)).sum()
    return float(answered / (end_s / 2))


def _first(demand: Demand, count: int) -> Demand:
    requests = demand.requests
    if len(requests) <= count:
        return demand
    last = int(requests.block_first[count])
    cut = replace(
        requests,
        arrival_s=requests.arrival_s[:count],
        input_tokens=requests.input_tokens[:count],
        output_tokens=requests.output_tokens[:count],
        block_first=requests.block_first[: count + 1],
        blocks=requests.blocks[:last],
    )
    return replace(demand, requests=cut)


def _check_rate(question: Question, evaluated: list[Evaluated]) -> None:
    """Refuse a rate that no deployment keeps up with."""
    best = max(evaluated, key=lambda one: one.stable_per_s)
    rate, stable = question.demand.rate_per_s, best.stable_per_s
    if rate > NOISE * stable and not question.demand.requests.clients:
        raise Infeasible(
            f"rate {rate:g}/s: more than {question.limits.accelerators} accelerators keep up with; the largest that is "
            f"stable is {stable:.3g}/s, with {best.words}"
        )
    if evaluated[0].goodput_per_s == 0:
        near = max(evaluated, key=lambda one: one.run.attainment(question.objectives))
        raise Infeasible(
            f"slo_share {question.objectives.share:g}: at no rate do so many requests meet both objectives; at "
            f"{rate:g}/s {near.run.attainment(question.objectives):.1%} do, with {near.words}"
        )
