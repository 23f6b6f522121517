"""The choice of a network for a mix of jobs: priced, planned where it may be on the front; and its answer.

A lower estimate of a job's time on a network is known before the network is planned, so that few networks need
planning. For models of operators there is a bound that needs no plan: their computing. All others are estimates
with a measured margin, not proofs: for transformers the closed form of the fastest configuration on one switch,
and for all jobs the time on the ideal switch with the same ports, once that is planned. Other networks are hardly
ever faster than that: they lack the latency of a switch, and a search may be lucky.
``benchmarks/choice_margins.py`` plans whole grids and compares. For a proof, have every network planned.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from topoopt.base.answers import Frame, Progress, fields_of, frame, shows_itself, silent
from topoopt.base.errors import InvalidInput
from topoopt.jobs import JobRequest
from topoopt.pricing import (
    HOURS_OF_A_YEAR,
    Iteration,
    Ownership,
    TrainingRun,
    beside,
    cheaper_share,
    in_samples,
)
from topoopt.schema.files import write_atomically, write_table
from topoopt.search import closed_form_s, is_transformer, job_of, strategy_bound_s
from topoopt.studies.choice.decision import (
    DROPPED,
    LEFT_OUT,
    PLANNED,
    Decision,
    Evaluated,
    Limits,
    Turn,
    buyable,
    decide,
    dominated_by,
    front_of,
    turns,
)
from topoopt.studies.choice.explore import Explored, Store, explore, swept_times
from topoopt.studies.choice.job_mix import JobShare, Machines, Mix
from topoopt.studies.choice.network import OTHERS, Network, Owner, priced


@dataclass(frozen=True, slots=True)
class TrainedJob:
    """A job with its iteration times, and the cost of its servers and their share of the network.

    Attributes
    ----------
    reference_time_s : float
        Iteration time on the reference network.
    """

    job: JobShare
    servers: int
    iteration: Iteration
    reference_time_s: float
    owned: Ownership

    def to_json(self) -> dict[str, Any]:
        """Return the job as a mapping; dollars are None where a price is not known, or nothing is trained."""
        owned = self.owned
        return {
            **fields_of(self.job, "job", "share"),
            "servers": self.servers,
            "iteration_time_s": self.iteration.time_s,
            "reference_time_s": self.reference_time_s,
            **fields_of(self.iteration, "samples", "tokens"),
            **fields_of(owned, "usd_per_hour", "usd_per_sample", "usd_per_token"),
            **fields_of(owned, "usd_per_run", "run_hours"),
        }


COLUMNS = (
    *("network", "fabric", "degree", "bandwidth_bps", "link_technology", "status", "on_front", "chosen"),
    *("network_usd", "network_low_usd", "network_high_usd", *(f"{name}_usd" for name in OTHERS), "total_usd"),
    *("cheaper_share", "relative_time", "relative_time_at_least", "usd_per_year_of_work"),
)
"""Columns of a table of all networks, followed by an iteration time per job and the reason."""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """Answer: the network to buy, the front, and changes that would alter the decision.

    Attributes
    ----------
    jobs : tuple of TrainedJob
        The mix, on the chosen network.
    machines : str
        Description of the servers.
    owner : Owner
        Pricing of networks and running costs of the cluster.
    points : tuple of Evaluated
        Every network of the grid.
    front : tuple of Evaluated
        Networks that no other beats in both cost and time, by cost.
    turns : tuple of Turn
        Changes of prices or shares that would change the decision.
    reference : Network
        Network on which the work of one year takes a year.
    plans : int
        Plans that were made, or found in the store: one for each job on each network that was planned.
    """

    jobs: tuple[TrainedJob, ...]
    machines: str
    owner: Owner
    points: tuple[Evaluated, ...]
    front: tuple[Evaluated, ...]
    limits: Limits
    decision: Decision
    turns: tuple[Turn, ...]
    reference: Network
    plans: int

    @property
    def mix(self) -> Mix:
        """The jobs with their shares of the year."""
        return tuple(each.job for each in self.jobs)

    @property
    def with_servers(self) -> bool:
        """Whether money is that of the cluster and of running it, or of the network alone."""
        return self.owner.with_servers

    def against(self, other: Evaluated) -> Ownership | None:
        """Return the network savings of another network and its loss in server time, for the same work.

        None where servers are not counted, or one of the two has no price.
        """
        own = self.decision.point
        own_time, other_time = own.relative_time(self.mix), other.relative_time(self.mix)
        if not (self.with_servers and own.money and other.money and own_time and other_time):
            return None
        return beside(self.owner.owned(own.money), own_time, self.owner.owned(other.money), other_time)

    def cheaper_share(self, point: Evaluated) -> float | None:
        """Return the share of price draws in which a network costs less than the chosen one."""
        own = self.decision.point
        if point is own or point.money is None or own.money is None:
            return None
        return cheaper_share(point.money.whole, own.money.whole)

    @cached_property
    def dominated(self) -> tuple[tuple[Evaluated, Evaluated], ...]:
        """Planned networks that others dominate; see :func:`dominated_by`."""
        return dominated_by(self.front, self.points, self.mix)

    def count(self, status: str) -> int:
        """Return the number of networks that were planned, dropped or left out."""
        return sum(point.status == status for point in self.points)

    def rows(self) -> list[dict[str, Any]]:
        """Return every network as a mapping of plain values, those of the front first, by money."""
        on_front = set(map(id, self.front))
        others = [point for point in self.points if id(point) not in on_front]
        return [self._row(point, id(point) in on_front) for point in (*self.front, *others)]

    def table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """Return columns and rows as a CSV or Parquet file has them."""
        times = [f"iteration_time_s:{job.name}" for job in self.mix]
        rows = []
        for row in self.rows():
            each = row["iteration_times_s"]
            rows.append(
                [*(row[name] for name in COLUMNS), *(each.get(job.name) for job in self.mix), row["reason"]]
            )
        return (*COLUMNS, *times, "reason"), rows

    def to_frame(self) -> Frame:
        """Return a row for each network, as pandas has it."""
        columns, rows = self.table()
        return frame(dict(zip(columns, row, strict=True)) for row in rows)

    def to_json(self) -> dict[str, Any]:
        """Return everything as one mapping."""
        rows = {"next_cheaper": self.decision.cheaper, "next_dearer": self.decision.dearer}
        return {
            "servers": self.owner.servers,
            "machines": self.machines,
            "jobs": [job.to_json() for job in self.jobs],
            "settings": self.owner.facts(),
            **fields_of(self.limits, "budget_usd", "deadline_years"),
            "reference": self.reference.name,
            "choice": self._row(self.decision.point, True),
            "decision": {
                "rule": self.decision.rule,
                "network": self.decision.point.network.name,
                **{key: None if row is None else self._beside(row) for key, row in rows.items()},
            },
            "front": [point.network.name for point in self.front],
            "what_would_change_it": [turn.to_json() for turn in self.turns],
            "networks": self.rows(),
            "planned": self.count(PLANNED),
            "dropped": self.count(DROPPED),
            "left_out": self.count(LEFT_OUT),
            "plans": self.plans,
        }

    def _beside(self, other: Evaluated) -> dict[str, Any]:
        more_usd_share, more_time_share = self.decision.shares(other, self.mix)
        found = self.against(other)
        return {
            "network": other.network.name,
            "more_usd_share": more_usd_share,
            "more_time_share": more_time_share,
            **{
                name: getattr(found, name, None)
                for name in ("network_saved_usd", "servers_lost_usd", "net_usd")
            },
        }

    def _row(self, point: Evaluated, on_front: bool) -> dict[str, Any]:
        by = next((one.network.name for other, one in self.dominated if other is point), None)
        return {
            **point.to_json(self.mix),
            "cheaper_share": self.cheaper_share(point),
            "on_front": on_front,
            "dominated_by": by,
            "chosen": point is self.decision.point,
        }


ANSWER, TABLE, PARQUET = "choice.json", "networks.csv", "networks.parquet"
OF_CLOSED_FORM = 0.9
"""Margin on the closed form of a transformer; the smallest ratio in two whole grids was 0.974."""
OF_SWITCH = 0.97
"""Margin on a transformer's time on the ideal switch with the same ports: every layout is tried on both. The
smallest ratio in two whole grids was 0.984, Mixtral 8x7B on 16 servers."""
OF_SWITCH_SEARCHED = 0.9
"""The same for a model of operators, whose strategy is searched for each network anew; the smallest ratio in eight
grids was 0.959, DLRM on 32 servers."""


@dataclass(frozen=True, slots=True)
class LeastTimes:
    """Least times of jobs on servers, each computed once.

    Attributes
    ----------
    known_s : mapping
        Least times by job and bandwidth of a server.
    transformers : mapping
        Whether a job is one.
    """

    machines: Machines
    known_s: dict[tuple[JobShare, float], float] = field(default_factory=dict)
    transformers: dict[JobShare, bool] = field(default_factory=dict)

    def at_least_s(self, job: JobShare, network: Network) -> float:
        """Return the least time in seconds."""
        key = job, network.server_bandwidth_bps
        if key not in self.known_s:
            request = self.machines.request(job, network)
            self.known_s[key] = (
                _transformer_s(request)
                if self._is_transformer(job)
                else strategy_bound_s(job_of(replace(request, search={})))
            )
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
    """Parameters of a choice.

    Attributes
    ----------
    budget_usd, deadline_s : float or None
        Budget over all years, or time limit for the work that the reference network does in a year; where a run is
        priced, time limit of the run.
    search : mapping
        Keys of a sweep file for the search over operators.
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
    """Return the network to buy for a mix of jobs.

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
    budget_usd, deadline_s = question.budget_usd, question.deadline_s
    if deadline_s is None:
        limits = Limits(budget_usd)
    else:
        run, first = question.owner.terms.run, Iteration(found.reference_times_s[0], *sizes[0])
        samples = in_samples(run, first).samples
        work_s = SECONDS_OF_A_YEAR if samples is None else samples / first.samples * first.time_s
        limits = Limits(budget_usd, deadline_s / work_s)
    offered = buyable(found.points, mix)
    decision = decide(offered, mix, limits)
    terms = replace(owner.terms, run=_run(owner, found, sizes))
    owner = replace(owner, terms=terms)
    return Choice(
        trained_jobs(mix, decision.point, sizes, found.reference_times_s, machines, owner),
        machines.words,
        owner,
        found.points,
        front_of(offered, mix),
        limits,
        decision,
        turns(offered, mix, limits),
        found.reference,
        found.plans,
    )


Sizes = Sequence[tuple[float, float | None]]


def _run(owner: Owner, found: Explored, sizes: Sizes) -> TrainingRun:
    if owner.terms.run == TrainingRun():
        return owner.terms.run
    return in_samples(owner.terms.run, Iteration(found.reference_times_s[0], *sizes[0]))


def _transformer_s(request: JobRequest) -> float:
    words = {word: value for word, value in request.training.items() if word != "accelerators"}
    return OF_CLOSED_FORM * closed_form_s(replace(request, training=words, search={}))


def write_choice(folder: str, choice: Choice) -> tuple[str, ...]:
    """Write a choice into a folder that exists, and return the names of the files; Parquet where pyarrow is installed.

    Raises
    ------
    InvalidInput
        If a file cannot be written.
    """
    place = Path(folder)
    write_atomically(place / ANSWER, json.dumps(choice.to_json(), indent=2, ensure_ascii=False) + "\n")
    names = (TABLE, PARQUET) if find_spec("pyarrow") else (TABLE,)
    columns, rows = choice.table()
    for name in names:
        write_table(str(place / name), columns, rows)
    return (ANSWER, *names)


def trained_jobs(
    mix: Mix,
    point: Evaluated,
    sizes: Sequence[tuple[float, float | None]],
    reference_times_s: Sequence[float],
    machines: Machines,
    owner: Owner,
) -> tuple[TrainedJob, ...]:
    """Return the jobs on a network.

    Parameters
    ----------
    sizes
        Samples of an iteration of each job, and tokens where it has some.

    Raises
    ------
    InvalidInput
        If a run is given in tokens, and the job has none.
    """
    assert point.money is not None
    found = []
    for job, time_s, size, reference_s in zip(mix, point.times_s, sizes, reference_times_s, strict=True):
        servers, iteration = machines.of(job), Iteration(time_s, *size)
        found.append(
            TrainedJob(job, servers, iteration, reference_s, owner.owned(point.money, iteration, servers))
        )
    return tuple(found)
