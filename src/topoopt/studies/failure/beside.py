"""A job over a month of failures on several fabrics: the plan's own, and those of its baselines."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from topoopt.base.errors import TopoOptError
from topoopt.plans import Baseline, ComparedFabric, Plan, compared_fabrics
from topoopt.pricing import CABLED_FABRICS
from topoopt.search import fabric_of_baseline, job_of_baseline
from topoopt.studies.failure.availability import Availability, availability, parts_of
from topoopt.studies.failure.effects import Effect, effects
from topoopt.studies.failure.predict import Progress
from topoopt.studies.failure.rates import FailureRates
from topoopt.studies.failure.switched import Exposure, switched_exposure


@dataclass(frozen=True, eq=False)
class FabricAvailability:
    """A fabric under failures.

    Attributes
    ----------
    row : ComparedFabric
        The fabric without failures: its time and its price.
    exposure : Exposure
        What can fail, how often, and what that does.
    availability : Availability
    """

    row: ComparedFabric
    exposure: Exposure
    availability: Availability

    @property
    def effective_iteration_time_s(self) -> float:
        """Seconds of the month for each iteration that counts."""
        goodput = self.availability.goodput.mean
        return self.row.outcome.iteration_time_s / goodput if goodput > 0 else float("inf")

    @property
    def lost_usd_per_hour(self) -> float | None:
        """What failures cost: dollars of an hour of training, by the share that does not count."""
        owned = self.row.ownership
        if owned is None or owned.usd_per_hour is None:
            return None
        return (1 - self.availability.goodput.mean) * owned.usd_per_hour

    def to_json(self) -> dict[str, Any]:
        """Return the fabric with its shares of the time as a mapping; what never gets done takes None seconds."""
        course, effective_s = asdict(self.availability), self.effective_iteration_time_s
        del course["failures"]  # they are among the parts
        owned = self.row.ownership
        return {
            "fabric": self.row.fabric,
            "label": self.row.label,
            "server_bandwidth_bps": self.row.server_bandwidth_bps,
            "cost_usd": self.row.cost_usd,
            "iteration_time_s": self.row.outcome.iteration_time_s,
            "effective_iteration_time_s": None if effective_s == float("inf") else effective_s,
            "usd_per_hour": None if owned is None else owned.usd_per_hour,
            "lost_usd_per_hour": self.lost_usd_per_hour,
            **{key: course[key] for key in ("full_speed", "degraded", "down", "goodput", "slowdown")},
            "goodput_first_order": course["goodput_first_order"],
            "parts": parts_json(self.exposure, self.availability),
        }


def parts_json(exposure: Exposure, found: Availability) -> list[dict[str, Any]]:
    """Return each kind of part that can fail: how many, how often, and what that does."""
    return [
        {
            "kind": kind,
            "count": exposure.counts[kind],
            **asdict(rate),
            "failures": asdict(found.failures[kind]),
            "effects": [_effect(effect) for effect in exposure.effects[kind]],
        }
        for kind, rate in exposure.rates.parts.items()
    ]


def available_fabrics(
    plan: Plan,
    rates: FailureRates,
    *,
    days: float,
    runs: int,
    seed: int,
    simulator: str = "analytic",
    on_progress: Progress = lambda stage, done, total: None,
) -> tuple[tuple[FabricAvailability, ...], tuple[tuple[str, str], ...]]:
    """Return the plan's own fabric and its baselines over a month of failures, and those left out with the reason.

    What is cabled from server to server is cabled once: nobody moves a cable of it, and a job that misses a server
    stands until that is repaired, spare servers or not. On switches any spare server will do.
    """
    own, *others = compared_fabrics(plan)
    skipped: list[tuple[str, str]] = []
    exposures = [(own, _own(plan, rates, simulator, on_progress))]
    for index, (row, compared) in enumerate(zip(plan.baselines, others, strict=True)):
        on_progress(f"simulating: failures on {compared.name}", index, len(others))
        try:
            exposures.append((compared, _exposure(plan, row, rates, simulator)))
        except TopoOptError as error:
            skipped.append((compared.name, str(error)))
    on_progress("drawing months", 0, 0)
    rows = []
    for compared, exposure in exposures:
        drawn = availability(
            exposure.counts, exposure.effects, exposure.rates, days=days, runs=runs, seed=seed
        )
        rows.append(FabricAvailability(compared, exposure, drawn))
    return tuple(rows), tuple(skipped)


def _own(plan: Plan, rates: FailureRates, simulator: str, on_progress: Progress) -> Exposure:
    counts = parts_of(plan)
    known = _of(rates, counts)
    return Exposure(counts, known, effects(plan, known, simulator=simulator, on_progress=on_progress))


def _exposure(plan: Plan, row: Baseline, rates: FailureRates, simulator: str) -> Exposure:
    if row.fabric not in CABLED_FABRICS:
        return switched_exposure(plan, row, rates, simulator)
    job = job_of_baseline(plan.job, row)
    fabric = fabric_of_baseline(job, row, plan.provenance.seed)
    whole = replace(
        plan, job=job, strategy=row.strategy, fabric=fabric, outcome=row.outcome, baselines=(), wiring=None
    )
    counts = {kind: count for kind, count in parts_of(whole).items() if kind != "panel"}
    known = _of(replace(rates, move_fibers=False, look_ahead=False), counts)
    return Exposure(counts, known, effects(whole, known, simulator=simulator))


def _of(rates: FailureRates, counts: Mapping[str, int]) -> FailureRates:
    """Return the rates of the kinds of part that a fabric has."""
    return replace(rates, parts={kind: rate for kind, rate in rates.parts.items() if kind in counts})


def _effect(effect: Effect) -> dict[str, Any]:
    document = {**asdict(effect), "failure": str(effect.failure)}
    del document["spare_time_s"]
    return document
