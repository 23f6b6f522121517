"""From a question to an answer: screen every deployment in closed form, simulate the best, put them on fabrics."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from topoopt.base.errors import Infeasible
from topoopt.inference.search.answer import ServingAnswer
from topoopt.inference.search.candidates import Candidate, candidates
from topoopt.inference.search.evaluated import Evaluated, evaluated
from topoopt.inference.search.gains import measured
from topoopt.inference.search.on_fabrics import OnOneFabric, on_fabrics
from topoopt.inference.search.pareto import pareto_front
from topoopt.inference.search.question import Question
from topoopt.inference.search.splits import splits_of
from topoopt.inference.simulator import Fleet

Progress = Callable[[str, int, int], None]

NOISE = 1.02
"""Of a rate that is found by simulation."""


def serve(question: Question, on_progress: Progress) -> ServingAnswer:
    """Return the best deployments, and of several servers the best on each fabric.

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
    front = pareto_front(readers, answerers, demand, machine.settings, limits)
    chosen = _promising(found, question.top)
    simulated = []
    for place, one in enumerate(chosen):
        on_progress("simulating deployments", place, len(chosen))
        simulated.append(evaluated(demand, question.objectives, one, _always(question.fleet(one))))
    simulated.sort(key=lambda one: (-one.goodput_per_s, -one.output_tokens_per_s))
    _check_rate(question, simulated)
    rows: tuple[OnOneFabric, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    if question.network is not None:
        rows, skipped = on_fabrics(question, question.network, found, simulated, on_progress)
    answer = ServingAnswer(question, tuple(simulated), front, len(answerers), len(found), rows, skipped)
    on_progress("what binds", 0, 1)
    return _with_gains(answer)


def _with_gains(answer: ServingAnswer) -> ServingAnswer:
    """Return an answer with what twice as much of each resource is worth: of several servers where the best is."""
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


def _promising(found: list[Candidate], top: int) -> list[Candidate]:
    """Return the best of each mode."""
    modes = dict.fromkeys(one.deployment.mode for one in found)
    return [one for mode in modes for one in [one for one in found if one.deployment.mode == mode][:top]]


def _check_rate(question: Question, simulated: Sequence[Evaluated]) -> None:
    """Refuse a rate that no deployment keeps up with, whatever the network."""
    best = max(simulated, key=lambda one: one.stable_per_s)
    rate, stable = question.demand.rate_per_s, best.stable_per_s
    if rate is not None and rate > NOISE * stable:
        raise Infeasible(
            f"rate {rate:g}/s: more than {question.limits.accelerators} accelerators keep up with; the largest that is "
            f"stable is {stable:.3g}/s, with {best.words}"
        )
    if simulated[0].goodput_per_s == 0:
        near = max(simulated, key=lambda one: one.run.attainment(question.objectives))
        at = "" if rate is None else f"at {rate:g}/s "
        raise Infeasible(
            f"slo_share {question.objectives.share:g}: at no rate do so many requests meet both objectives; "
            f"{at}{near.run.attainment(question.objectives):.1%} do, with {near.words}"
        )
