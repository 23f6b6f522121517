"""What to buy: networks are priced, those that may be on the front are planned, and one of the front is taken.

What a job takes at least on a network, known before that is planned; so that few networks are.

For models of operators there is a bound that needs no plan: their computing. All else are estimates with a margin that
was measured, and no proof: of transformers the closed form of the fastest configuration on one switch, and of all jobs
the time on the ideal switch of the same ports, once that is planned. Another network is hardly ever faster than that:
it lacks the latency of a switch, and a search has luck. ``benchmarks/choice_margins.py`` plans whole grids and
compares. Whoever wants the proof has every network planned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.jobs import JobRequest
from topoopt.pricing import HOURS_OF_A_YEAR, Iteration, TrainingRun, in_samples
from topoopt.search import closed_form_s, computing_bound_s, is_transformer, job_of
from topoopt.studies.choice.answer import Choice, trained_jobs
from topoopt.studies.choice.decision import Limits, decide, front_of, turns
from topoopt.studies.choice.explore import Explored, Store, explore, swept_times
from topoopt.studies.choice.job_mix import JobShare, Machines, Mix
from topoopt.studies.choice.network import Network
from topoopt.studies.choice.pricing import Owner, priced

OF_CLOSED_FORM = 0.9
"""Of the closed form of a transformer; the least of two whole grids was 0.974."""
OF_SWITCH = 0.97
"""Of the time of a transformer on the ideal switch of the same ports: every layout is tried on both. The least of two
whole grids was 0.984, Mixtral 8x7B on 16 servers."""
OF_SWITCH_SEARCHED = 0.9
"""The same of a model of operators, whose strategy is searched for each network anew; the least of eight grids was
0.959, DLRM on 32 servers."""


@dataclass(frozen=True, slots=True)
class LeastTimes:
    """Least times of jobs on machines, each worked out once.

    Attributes
    ----------
    known_s : mapping
        By job and bandwidth of a server; 0 of what does not depend on that.
    transformers : mapping
        Whether a job is one.
    """

    machines: Machines
    known_s: dict[tuple[JobShare, float], float] = field(default_factory=dict)
    transformers: dict[JobShare, bool] = field(default_factory=dict)

    def at_least_s(self, job: JobShare, network: Network) -> float:
        """Return the least time in seconds; of a transformer it depends on the bandwidth of a server."""
        transformer = self._is_transformer(job)
        key = job, network.server_bandwidth_bps if transformer else 0.0
        if key not in self.known_s:
            request = self.machines.request(job, network)
            self.known_s[key] = _transformer_s(request) if transformer else _operators_s(request)
        return self.known_s[key]

    def beside_switch_s(self, job: JobShare, switch_s: float) -> float:
        """Return the least time on the ports of an ideal switch on which the job takes so long."""
        return (OF_SWITCH if self._is_transformer(job) else OF_SWITCH_SEARCHED) * switch_s

    def _is_transformer(self, job: JobShare) -> bool:
        if job not in self.transformers:
            self.transformers[job] = is_transformer(self.machines.request(job))
        return self.transformers[job]


SECONDS_OF_A_YEAR = HOURS_OF_A_YEAR * 3600.0


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked.

    Attributes
    ----------
    budget_usd, deadline_s : float or None
        What may be spent over all years, or how long the work may take that the reference network does in a year; where
        a run is priced, how long the run may take.
    search : mapping
        Keys of a sweep file that say how to search over operators.
    exact : bool
        Whether every network is planned that has a price; else estimates spare plans.
    """

    mix: Mix
    networks: Sequence[Network]
    machines: Machines
    owner: Owner
    budget_usd: float | None = None
    deadline_s: float | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = False


def choose(question: Question, store: Store, on_progress: Progress = silent) -> Choice:
    """Return what to buy for a mix of jobs.

    Raises
    ------
    InvalidInput
        For an unknown model, a file that is wrong, or a job of more servers than there are.
    Infeasible
        If no network has a price and carries every job, or none meets the limit.
    """
    mix, machines, owner = question.mix, question.machines, question.owner
    Limits(question.budget_usd, question.deadline_s)  # refused before anything is planned
    if len(mix) > 1 and owner.terms.run != TrainingRun():
        raise InvalidInput(
            f"samples, tokens, run_hours: are of one job, and there are {len(mix)}; leave them out"
        )
    least = LeastTimes(machines)
    told = replace(store, on_progress=on_progress)
    times = swept_times(mix, question.networks, machines, question.search, told, least)
    found = explore(mix, priced(question.networks, owner), times, on_progress, exact=question.exact)
    sizes = times.sizes(mix)
    limits = _limits(question, found, sizes)
    decision = decide(found.points, mix, limits)
    terms = replace(owner.terms, run=_run(owner, found, sizes))
    owner = replace(owner, terms=terms)
    return Choice(
        trained_jobs(mix, decision.point, sizes, found.reference_times_s, machines, owner),
        machines.words,
        owner,
        found.points,
        front_of(found.points, mix),
        limits,
        decision,
        turns(found.points, mix, limits),
        found.reference,
        found.plans,
    )


Sizes = Sequence[tuple[float, float | None]]


def _limits(question: Question, found: Explored, sizes: Sizes) -> Limits:
    """Return the limits, the deadline in years of work on the reference network."""
    budget_usd, deadline_s = question.budget_usd, question.deadline_s
    if deadline_s is None:
        return Limits(budget_usd)
    run, first = question.owner.terms.run, Iteration(found.reference_times_s[0], *sizes[0])
    samples = in_samples(run, first).samples
    work_s = SECONDS_OF_A_YEAR if samples is None else samples / first.samples * first.time_s
    return Limits(budget_usd, deadline_s / work_s)


def _run(owner: Owner, found: Explored, sizes: Sizes) -> TrainingRun:
    """Return the run by its samples; hours are those on the reference network."""
    if owner.terms.run == TrainingRun():
        return owner.terms.run
    return in_samples(owner.terms.run, Iteration(found.reference_times_s[0], *sizes[0]))


def _transformer_s(request: JobRequest) -> float:
    words = {word: value for word, value in request.training.items() if word != "accelerators"}
    return OF_CLOSED_FORM * closed_form_s(replace(request, training=words, search={}))


def _operators_s(request: JobRequest) -> float:
    return computing_bound_s(job_of(replace(request, search={})))
