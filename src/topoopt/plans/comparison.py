"""The noun Comparison: one job on several fabrics, by one simulator or several."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from topoopt.base.door import shows_itself
from topoopt.base.frame import Frame, frame
from topoopt.base.provenance import Provenance
from topoopt.base.units import format_bandwidth
from topoopt.plans.front import Standing, dominators, front, standings
from topoopt.plans.ownership import PricedTime, ownerships
from topoopt.plans.plan import Baseline, Outcome, Plan, labeled
from topoopt.pricing import Ownership, OwnershipTerms
from topoopt.schema.files import Amount, noun_from

COMPARISON_FORMAT = "topoopt-comparison"


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """A task of the network, and how long it took by each simulator, in the order in which they were named."""

    task: int
    name: str
    times_s: Mapping[str, Amount]
    difference_s: float


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFabric:
    """The job on one fabric.

    Attributes
    ----------
    outcome : Outcome
        By the first simulator.
    configuration, configuration_times_s
        Of a transformer: the fastest of its configurations here, and the time of each; empty for any other job.
    iteration_times_s : mapping
        By simulator; empty where there was one only.
    difference : float, optional
        Iteration time by the last simulator over that by the first, minus 1.
    tasks : tuple of TaskDifference
        Those whose times differ most between the first and the last simulator.
    routes : str
        Routing method by which the job goes; nothing where circuits change, and in older files.
    power_w : float or None
        Watts of the network; None where those of a part are unknown.
    ownership : Ownership, optional
        What network, servers and electricity cost together; None in older files.
    variant : str
        What tells it from others of its name, such as ``priced``; nothing where there is only one.
    """

    fabric: str
    description: str
    server_bandwidth_bps: float
    outcome: Outcome
    cost_usd: float | None
    proposals: int = 0
    configuration: str = ""
    configuration_times_s: Mapping[str, float] = field(default_factory=dict)
    iteration_times_s: Mapping[str, float] = field(default_factory=dict)
    difference: float | None = None
    tasks: tuple[TaskDifference, ...] = ()
    routes: str = ""
    power_w: float | None = None
    ownership: Ownership | None = None
    variant: str = ""

    @property
    def label(self) -> str:
        """The fabric, and what tells it from others of its name."""
        return labeled(self.fabric, self.variant)

    @property
    def name(self) -> str:
        """The label with the bandwidth of a server."""
        return f"{self.label}, {format_bandwidth(self.server_bandwidth_bps)}"

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
        Of searches and simulations.
    provenance : Provenance, optional
        Of the plan; a file of an older version has none.
    terms : OwnershipTerms, optional
        By which ownership is priced; a file of an older version has none.
    """

    model: str
    servers: int
    degree: int
    bandwidth_bps: float
    simulators: tuple[str, ...]
    collective: str
    fabrics: tuple[ComparedFabric, ...]
    skipped: tuple[tuple[str, str], ...]
    seed: int
    prices: str
    provenance: Provenance | None = None
    terms: OwnershipTerms | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt compare --json``."""
        made = self.provenance
        return {
            "format": COMPARISON_FORMAT,
            **{
                key: value
                for key, value in vars(self).items()
                if key not in ("skipped", "provenance", "terms")
            },
            "simulator": self.simulators[0],
            "simulators": list(self.simulators),
            "skipped_fabrics": [list(row) for row in self.skipped],
            **({"provenance": {**asdict(made), "seed": self.seed}} if made else {}),
            **({"terms": asdict(self.terms)} if self.terms else {}),
            "fabrics": self._rows(),
        }

    def to_frame(self) -> Frame:
        """Return a row for each fabric, a column for each of its figures; needs pandas."""
        wide = ("configuration_times_s", "iteration_times_s", "tasks", "ownership")
        return frame({key: value for key, value in row.items() if key not in wide} for row in self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        own_s = self.fabrics[0].outcome.iteration_time_s
        standings = standings_of(self.fabrics)
        return [
            {**row.to_json(own_s), **asdict(standing)}
            for row, standing in zip(self.fabrics, standings, strict=True)
        ]


def front_of_fabrics(rows: Sequence[ComparedFabric]) -> tuple[ComparedFabric, ...]:
    """Return the fabrics that no other beats in both price and time, the cheapest first; see :func:`front`."""
    return front(rows, _price_usd, _time_s)


def fabrics_that_beat(own: ComparedFabric, rows: Sequence[ComparedFabric]) -> tuple[ComparedFabric, ...]:
    """Return the fabrics that beat one of them in price and time, the fastest first; see :func:`dominators`."""
    return dominators(own, rows, _price_usd, _time_s)


def standings_of(rows: Sequence[ComparedFabric]) -> list[Standing]:
    """Return whether each row is on the front, and the labels of those that beat it."""
    return standings(rows, _price_usd, _time_s, lambda row: row.label)


def _price_usd(row: ComparedFabric) -> float | None:
    return row.cost_usd


def _time_s(row: ComparedFabric) -> float:
    return row.outcome.iteration_time_s


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
        plan.price.get("cost_usd"),
        plan.search.proposals,
        routes=plan.fabric.routes.method,
        power_w=plan.price.get("power_w"),
        **_configured(plan, plan.strategy.layout, plan.search.seed_times_s),
    )
    rows = [
        noun_from(ComparedFabric, row, **_configured(plan, row.strategy.layout, row.layout_times_s))
        for row in listed
    ]
    return with_ownership(plan, (mine, *rows))


def with_ownership(plan: Plan, rows: Sequence[ComparedFabric]) -> tuple[ComparedFabric, ...]:
    """Return fabrics, the plan's own first, with what network, servers and electricity cost together on each."""
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
