"""Comparison: one job on several fabrics, by one simulator or several."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal, NamedTuple, overload

from pydantic import Field

from topoopt.base.answers import Frame, Provenance, frame, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.catalog import IDEAL_SWITCH, NetworkRow, Skipped
from topoopt.jobs import Job
from topoopt.plans.file_model import RECOMMENDED, OnFabricPart, PricedPart, ProvenancePart
from topoopt.plans.plan import Baseline, Outcome, Plan
from topoopt.plans.verdict import SURE, Row, Standing, as_good_for_no_more, front, standings
from topoopt.pricing import Iteration, NetworkPrice, Ownership, OwnershipTerms, beside, in_samples, ownership
from topoopt.schema.files import Amount, Positive, Strict, noun_from, validated


class PricedTime(NamedTuple):
    """A network that is priced, and an iteration there."""

    cost_usd: float | None
    power_w: float | None
    iteration_time_s: float


COMPARISON_FORMAT = "topoopt-comparison"


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """A task of the network, and how long it took by each simulator, in the order in which they were named."""

    task: int
    name: str
    times_s: Mapping[str, Amount]
    difference_s: float


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFabric(NetworkRow):
    """The job on one fabric.

    Attributes
    ----------
    outcome : Outcome
        Result of the first simulator.
    configuration, configuration_times_s
        For a transformer, the fastest configuration here and the time of each; empty for any other job.
    iteration_times_s : mapping
        Iteration times by simulator; empty if there was only one.
    difference : float, optional
        Iteration time by the last simulator over that by the first, minus 1.
    tasks : tuple of TaskDifference
        Tasks whose times differ most between the first and the last simulator.
    routes : str
        Routing method by which the job goes; nothing where circuits change, and in older files.
    ownership : Ownership, optional
        Total cost of network, servers and electricity; None in older files.
    """

    outcome: Outcome
    proposals: int = 0
    configuration: str = ""
    configuration_times_s: Mapping[str, float] = field(default_factory=dict)
    iteration_times_s: Mapping[str, float] = field(default_factory=dict)
    difference: float | None = None
    tasks: tuple[TaskDifference, ...] = ()
    routes: str = ""
    ownership: Ownership | None = None

    def to_json(self, relative_to_s: float) -> dict[str, Any]:
        """Return the row of this fabric; ``relative_time`` is over the given iteration time."""
        row = {**asdict(self), "label": self.label, **self.outcome.to_json()}
        row["relative_time"] = self.outcome.iteration_time_s / relative_to_s
        for only_with in (
            ("configuration", "configuration_times_s"),
            ("iteration_times_s", "difference", "tasks"),
        ):
            if not row[only_with[0]]:
                row = {key: value for key, value in row.items() if key not in only_with}
        del row["outcome"]
        return row


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """One job on several fabrics, the plan's own first; ``fabrics`` are rows of :class:`ComparedFabric`.

    Attributes
    ----------
    simulators : tuple of str
        The first gives the times of the table.
    skipped : tuple of (fabric, reason)
    seed : int
        Random seed of searches and simulations.
    provenance : Provenance, optional
        Provenance of the plan; None in files of older versions.
    terms : OwnershipTerms, optional
        Terms of the cost of ownership; None in files of older versions.
    assumed : str
        The default network, if none was given; empty for a comparison read from a file.
    interval_share : float or None
        Error of a transformer's iteration times, see :class:`topoopt.jobs.TransformerWork`.
    """

    model: str
    servers: int
    degree: int
    bandwidth_bps: float
    simulators: tuple[str, ...]
    collective: str
    fabrics: tuple[ComparedFabric, ...]
    skipped: Skipped
    seed: int
    prices: str
    provenance: Provenance | None = None
    terms: OwnershipTerms | None = None
    assumed: str = ""
    interval_share: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt compare --json``."""
        made = self.provenance
        return {
            "format": COMPARISON_FORMAT,
            **{
                key: value
                for key, value in vars(self).items()
                if key not in ("skipped", "provenance", "terms", "assumed")
            },
            "simulator": self.simulators[0],
            "simulators": list(self.simulators),
            "skipped_fabrics": [list(row) for row in self.skipped],
            **({"provenance": {**asdict(made), "seed": self.seed}} if made else {}),
            **({"terms": asdict(self.terms)} if self.terms else {}),
            "recommended": recommended_label(self.fabrics),
            "fabrics": rows_of(self.fabrics),
        }

    def to_frame(self) -> Frame:
        """Return a row for each fabric, a column for each of its figures; needs pandas."""
        return frame_of(self.fabrics)


def rows_of(fabrics: Sequence[ComparedFabric]) -> list[dict[str, Any]]:
    """Return the figures of each fabric, with its standing."""
    own_s = fabrics[0].outcome.iteration_time_s
    return [
        {**row.to_json(own_s), **asdict(standing)}
        for row, standing in zip(fabrics, standings_of(fabrics), strict=True)
    ]


def frame_of(fabrics: Sequence[ComparedFabric]) -> Frame:
    """Return a row for each fabric, a column for each of its figures; needs pandas."""
    wide = ("configuration_times_s", "iteration_times_s", "tasks", "ownership")
    return frame({key: value for key, value in row.items() if key not in wide} for row in rows_of(fabrics))


def front_of_fabrics(rows: Sequence[ComparedFabric]) -> tuple[ComparedFabric, ...]:
    """Return the fabrics that no other beats in both price and time, the cheapest first; see :func:`front`."""
    return front(rows, lambda row: row.cost_usd, _time_s)


def standings_of(rows: Sequence[ComparedFabric]) -> list[Standing]:
    """Return the position of each row in price and time, also relative to the first one."""
    return standings(rows, _time_s)


def _time_s(row: ComparedFabric) -> float:
    return row.outcome.iteration_time_s


def _saved_usd(row: ComparedFabric) -> float | None:
    return row.ownership.net_usd if row.ownership else None


@overload
def recommended(rows: Sequence[ComparedFabric]) -> ComparedFabric | None: ...


@overload
def recommended(
    rows: Sequence[Row], time: Callable[[Row], float], saved: Callable[[Row], float | None]
) -> Row | None: ...


def recommended(rows: Sequence[Any], time: Any = _time_s, saved: Any = _saved_usd) -> Any:
    """Return the network to buy; None where the first one has no price or there is no other.

    It is the first network, unless others are cheaper or faster with a probability of at least 90% and their servers
    and network together cost no more for the same work. Of those it is the one that costs least. A slower network is
    compared by its ownership; without ownership only networks that are as fast within the error can replace the first.
    The ideal switch gives way to a network that is no dearer and as fast within the error.

    Parameters
    ----------
    time, saved
        Iteration time of a row in seconds, and its savings in ownership over the first row for the same work.
    """
    if len(rows) < 2 or rows[0].cost_usd is None:
        return None
    best, best_rank = rows[0], (0.0, False, 0.0)
    for row, its in zip(rows, standings(rows, time), strict=True):
        owned = saved(row)
        rank = owned or 0.0, its.beats, rows[0].cost_usd - (row.cost_usd or 0.0)
        differs = max(its.cheaper_share or 0.0, its.faster_share or 0.0) >= SURE
        if differs and (its.beats or its.ties_for_less or owned is not None) and rank > best_rank:
            best, best_rank = row, rank
    if best.fabric == IDEAL_SWITCH:
        return min(as_good_for_no_more(best, rows, lambda row: row.cost_usd, time), key=time, default=best)
    return best


def recommended_label(rows: Sequence[ComparedFabric]) -> str | None:
    """Return the label of the network to buy."""
    best = recommended(rows)
    return None if best is None else best.label


def compared_fabrics(
    plan: Plan, own: Outcome | None = None, others: Iterable[Baseline] | None = None
) -> tuple[ComparedFabric, ...]:
    """Return a plan's own fabric, then the others; without ``own`` and ``others`` as the plan has them."""
    listed = plan.baselines if others is None else others
    mine = ComparedFabric(
        plan.fabric.name,
        "this plan",
        plan.job.cluster.server_bandwidth_bps,
        plan.outcome if own is None else own,
        plan.search.proposals,
        routes=plan.fabric.routes.method,
        cost_usd=plan.price.get("cost_usd"),
        power_w=plan.price.get("power_w"),
        cost_parts_usd=plan.price.get("cost_parts_usd", {}),
        **_configured(plan, plan.strategy.layout, plan.search.seed_times_s),
    )
    rows = [
        noun_from(ComparedFabric, row, **_configured(plan, row.strategy.layout, row.layout_times_s))
        for row in listed
    ]
    return with_ownership(plan, (mine, *rows))


def with_ownership(plan: Plan, rows: Sequence[ComparedFabric]) -> tuple[ComparedFabric, ...]:
    """Return fabrics, the plan's own first, with the cost of ownership on each."""
    priced = [PricedTime(row.cost_usd, row.power_w, row.outcome.iteration_time_s) for row in rows]
    return tuple(
        replace(row, ownership=owned) for row, owned in zip(rows, ownerships(plan, priced), strict=True)
    )


def _configured(plan: Plan, layout: int, times_s: tuple[float, ...]) -> dict[str, Any]:
    """Return the configuration of a transformer on a fabric, and the times of all; nothing for other jobs."""
    work = plan.job.work
    names = [work.strategy_name(choice) for choice in work.choices(plan.job.cluster.servers)]
    if not names:
        return {}
    times_by_name = dict(zip(names, times_s, strict=False))
    return {"configuration": names[layout], "configuration_times_s": times_by_name}


def iteration_of(job: Job, time_s: float) -> Iteration:
    """Return an iteration of a job that takes so long."""
    return Iteration(time_s, job.global_batch, job.work.tokens())


def iterations_by_fabric(plan: Plan) -> dict[str, Iteration]:
    """Return iterations on the plan's own fabric, and on those baselines that have the bandwidth of its ports."""
    whole_bps = plan.job.cluster.server_bandwidth_bps
    alike = {row.fabric: row.outcome for row in plan.baselines if row.server_bandwidth_bps == whole_bps}
    times = {**alike, plan.fabric.name: plan.outcome}
    return {name: iteration_of(plan.job, one.iteration_time_s) for name, one in times.items()}


def ownerships(plan: Plan, fabrics: Sequence[PricedTime]) -> tuple[Ownership | None, ...]:
    """Return the cost of ownership on fabrics, the plan's own first.

    All are priced for one training: where a run is given by its hours, these are those on the first fabric. None of
    a plan that was made before ownership was priced.

    Raises
    ------
    InvalidInput
        If the run is given in tokens and the job has none.
    """
    if plan.terms is None or not fabrics:
        return (None,) * len(fabrics)
    job, first_s = plan.job, fabrics[0].iteration_time_s
    terms = replace(plan.terms, run=in_samples(plan.terms.run, iteration_of(job, first_s)))
    own, *others = (
        ownership(
            terms,
            job.cluster.servers,
            NetworkPrice(row.cost_usd, row.power_w),
            iteration_of(job, row.iteration_time_s),
        )
        for row in fabrics
    )
    times_s = (row.iteration_time_s for row in fabrics[1:])
    return (own, *(beside(own, first_s, other, s) for other, s in zip(others, times_s, strict=True)))


class FabricModel(PricedPart, OnFabricPart):
    """One fabric."""

    configuration: str = ""
    configuration_times_s: dict[str, Positive] = Field(default={})
    iteration_times_s: dict[str, Positive] = Field(default={})
    difference: float | None = None
    tasks: tuple[TaskDifference, ...] = ()
    routes: str = ""


class ComparisonModel(Strict):
    """The whole document."""

    format: Literal["topoopt-comparison"] = "topoopt-comparison"
    model: str
    servers: int
    degree: int
    bandwidth_bps: Positive
    simulator: str
    simulators: Annotated[tuple[str, ...], Field(min_length=1)]
    collective: str
    skipped_fabrics: tuple[tuple[str, str], ...]
    seed: int
    prices: str
    provenance: ProvenancePart | None = None
    terms: OwnershipTerms | None = None
    interval_share: Amount | None = None
    recommended: str | None = RECOMMENDED
    fabrics: list[FabricModel] = Field(min_length=1)


def comparison_from_mapping(document: Any, place: str = "comparison") -> Comparison:
    """Return the comparison that a JSON document describes.

    Raises
    ------
    InvalidInput
        In one line, for a key that is missing, unknown or wrong.
    """
    file = validated(ComparisonModel, document, place)
    _check_fidelities(file, place)
    return noun_from(
        Comparison,
        file,
        fabrics=tuple(
            noun_from(ComparedFabric, row, outcome=noun_from(Outcome, row)) for row in file.fabrics
        ),
        skipped=file.skipped_fabrics,
        provenance=file.provenance and noun_from(Provenance, file.provenance),
    )


def _check_fidelities(file: ComparisonModel, place: str) -> None:
    """Refuse a comparison by several simulators in which a fabric lacks the time by one of them."""
    if len(file.simulators) == 1:
        return
    for index, row in enumerate(file.fabrics):
        missing = [name for name in file.simulators if name not in row.iteration_times_s]
        if missing or row.difference is None:
            what = f"iteration_times_s: no time by {missing[0]}" if missing else "difference: missing"
            raise InvalidInput(f"{place}: fabrics.{index}.{what}; there are several simulators")
