"""A job over a month of failures on several fabrics: the plan's own, and those of its baselines.

On a switched fabric, failures are simulated by parts, rates and effects, with the remaining bandwidth.

A dead link or switch takes bandwidth from servers and cuts nothing off, as long as a server has another interface: the
links of a server are as much slower as it has lost of them. A server with one interface fails with its link.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import TopoOptError
from topoopt.catalog import NETWORKS, Table, compare
from topoopt.jobs import Job, job_on
from topoopt.plans import Baseline, ComparedFabric, Plan, compared_fabrics
from topoopt.routing import Fabric
from topoopt.search import fabric_of_baseline, job_of_baseline, simulated, starting_strategy
from topoopt.studies.failure.availability import Availability, availability, parts_of
from topoopt.studies.failure.effects import Effect, LostBandwidth, SwitchTier, effects, switch_tiers
from topoopt.studies.failure.failure_rates import FailureRates, Rate
from topoopt.studies.failure.fault import FailedServer

ROUTED_AROUND = "routed around, until it is repaired"
STANDS = "none: it stands until the part is repaired"
LINKS = ("nic", "fiber")
"""Kinds of part that are the link of a server to its switch."""
EffectOf = Callable[[str, int, float, float], Effect]


@dataclass(frozen=True, eq=False)
class Exposure:
    """Parts of a fabric that can fail, their rates, and the effects.

    Attributes
    ----------
    counts : mapping from a kind of part to how many there are
    rates : FailureRates
        Rates of these kinds alone.
    effects : mapping from a kind of part to the effect of its failures
    """

    counts: dict[str, int]
    rates: FailureRates
    effects: dict[str, tuple[Effect, ...]]


@dataclass(frozen=True, eq=False)
class FabricAvailability:
    """A fabric under failures.

    Attributes
    ----------
    row : ComparedFabric
        The fabric without failures: its time and its price.
    exposure : Exposure
        Parts that can fail, their rates, and the effects.
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
        """Cost of failures in dollars per hour of training: the hourly cost times the share of lost time."""
        owned = self.row.ownership
        if owned is None or owned.usd_per_hour is None:
            return None
        return (1 - self.availability.goodput.mean) * owned.usd_per_hour

    def to_json(self) -> dict[str, Any]:
        """Return the fabric with its shares of the time as a mapping; times of work that is never done are None."""
        course, effective_s = asdict(self.availability), self.effective_iteration_time_s
        del course["failures"]  # they are among the parts
        owned = self.row.ownership
        return {
            **self.row.network_json(),
            "iteration_time_s": self.row.outcome.iteration_time_s,
            "effective_iteration_time_s": None if effective_s == float("inf") else effective_s,
            "usd_per_hour": None if owned is None else owned.usd_per_hour,
            "lost_usd_per_hour": self.lost_usd_per_hour,
            **{key: course[key] for key in ("full_speed", "degraded", "down", "goodput", "slowdown")},
            "goodput_first_order": course["goodput_first_order"],
            "parts": parts_json(self.exposure, self.availability),
        }


def parts_json(exposure: Exposure, found: Availability) -> list[dict[str, Any]]:
    """Return each kind of part that can fail: number, rate, and effect."""
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
    on_progress: Progress = silent,
) -> Table[FabricAvailability]:
    """Return the plan's own fabric and its baselines over a month of failures.

    Direct cables stay in place: none is moved, and a job that misses a server stops until it is repaired, with or
    without spares. On switches any spare server will do.
    """
    own, *others = compared_fabrics(plan)

    def available(row: ComparedFabric, exposure: Exposure) -> FabricAvailability:
        drawn = availability(
            exposure.counts, exposure.effects, exposure.rates, days=days, runs=runs, seed=seed
        )
        return FabricAvailability(row, exposure, drawn)

    first = available(own, _own(plan, rates, simulator, on_progress))
    table = compare(
        zip(plan.baselines, others, strict=True),
        lambda pair: available(pair[1], _exposure(plan, pair[0], rates, simulator)),
        lambda pair: pair[1].name,
        on_progress=on_progress,
        stage="simulating: failures on {}",
    )
    return Table((first, *table.rows), table.skipped)


def _own(plan: Plan, rates: FailureRates, simulator: str, on_progress: Progress) -> Exposure:
    counts = parts_of(plan)
    known = _of(rates, counts)
    return Exposure(counts, known, effects(plan, known, simulator=simulator, on_progress=on_progress))


def _exposure(plan: Plan, row: Baseline, rates: FailureRates, simulator: str) -> Exposure:
    if not NETWORKS[row.fabric].cabled:
        return switched_exposure(plan, row, rates, simulator)
    job = job_of_baseline(plan.job, row)
    fabric = fabric_of_baseline(job, row, plan.provenance.seed, own=plan.fabric)
    whole = replace(
        plan, job=job, strategy=row.strategy, fabric=fabric, outcome=row.outcome, baselines=(), wiring=None
    )
    counts = {kind: count for kind, count in parts_of(whole).items() if kind != "panel"}
    known = _of(replace(rates, move_fibers=False, look_ahead=False), counts)
    return Exposure(counts, known, effects(whole, known, simulator=simulator))


def _of(rates: FailureRates, counts: Mapping[str, int]) -> FailureRates:
    return replace(rates, parts={kind: rate for kind, rate in rates.parts.items() if kind in counts})


def _effect(effect: Effect) -> dict[str, Any]:
    document = {**asdict(effect), "failure": str(effect.failure)}
    del document["spare_time_s"]
    return document


def switched_exposure(plan: Plan, row: Baseline, rates: FailureRates, simulator: str) -> Exposure:
    """Return the parts of a switched baseline that can fail, and the effects on the job.

    Raises
    ------
    InvalidInput
        If the fabric cannot be built.
    """
    cluster, servers = plan.job.cluster, plan.job.cluster.servers
    interfaces = interfaces_of(plan, row)
    job, seed = job_of_baseline(plan.job, row), plan.provenance.seed
    fabric = fabric_of_baseline(job, row, seed)
    before_s = simulated(job, row.strategy, fabric, simulator).iteration_time_s

    def effect(part: str, behind: int, lost: float, weight: float = 1.0) -> Effect:
        failure = LostBandwidth(part, behind, lost)
        if lost >= 1:
            return Effect(failure, weight, 0.0, 0.0, 0.0, STANDS)
        slower = slowed(fabric, behind, lost)
        speed = before_s / simulated(job, row.strategy, slower, simulator).iteration_time_s
        return Effect(failure, weight, speed, speed, 0.0, ROUTED_AROUND)

    tiers = switch_tiers(row.fabric, servers, interfaces, row.server_bandwidth_bps / interfaces)
    found: dict[str, tuple[Effect, ...]] = {}
    links = dict.fromkeys(LINKS, servers * interfaces)
    counts = {**links, "server": servers, "switch": sum(tier.count for tier in tiers)}
    parts = {kind: rate for kind, rate in rates.parts.items() if counts.get(kind)}
    if interfaces == 1:
        parts = _cut_off(parts)
    of_links = [kind for kind in LINKS if kind in parts]
    if of_links:
        found |= dict.fromkeys(of_links, (effect("a link of a server", 1, 1 / interfaces),))
    if "switch" in parts:
        found["switch"] = tuple(_of_tier(tier, counts["switch"], effect) for tier in tiers)
    if "server" in parts:
        speed = _fewer(job, row, cluster.servers, seed, simulator, before_s)
        found["server"] = (Effect(FailedServer(servers // 2), 1.0, 0.0, speed, 0.0, "spare"),)
    return Exposure(counts, replace(rates, parts=parts, move_fibers=True), found)


def interfaces_of(plan: Plan, row: Baseline) -> int:
    """Return the ports per server on a baseline: the cluster's, or as many as its bandwidth takes."""
    cluster = plan.job.cluster
    return min(max(round(row.server_bandwidth_bps / cluster.link_bandwidth_bps), 1), cluster.degree)


def slowed(fabric: Fabric, servers: int, lost: float) -> Fabric:
    """Return the fabric with the links of its first servers slower by a share."""
    topology = fabric.topology
    at_one = np.minimum(topology.src, topology.dst) < servers
    left = np.where(at_one, 1 - lost, 1.0)
    return replace(fabric, topology=replace(topology, bandwidth_bps=topology.bandwidth_bps * left))


def _of_tier(tier: SwitchTier, switches: int, effect: EffectOf) -> Effect:
    return effect(f"a switch ({tier.name})", tier.servers, tier.lost, tier.count / switches)


def _cut_off(parts: dict[str, Rate]) -> dict[str, Rate]:
    """Return rates in which the only link of a server, its NIC and its cable, is a part of it."""
    joined = [parts[kind] for kind in ("server", *LINKS) if kind in parts]
    others = {kind: rate for kind, rate in parts.items() if kind not in ("server", *LINKS)}
    if not joined:
        return others
    a_second = sum(1 / rate.mtbf_s for rate in joined)
    repair_s = sum(rate.repair_s / rate.mtbf_s for rate in joined) / a_second
    origin = "; with its only link: ".join(dict.fromkeys(rate.origin for rate in joined))
    return {**others, "server": Rate(1 / a_second, repair_s, origin)}


def _fewer(job: Job, row: Baseline, servers: int, seed: int, simulator: str, before_s: float) -> float:
    """Return samples a second without one server, over those with all; 0 where the job cannot run so."""
    try:
        fewer = job_on(job, replace(job.cluster, servers=servers - 1))
        strategy = starting_strategy(fewer)
        fabric = fabric_of_baseline(fewer, replace(row, strategy=strategy, routes=""), seed)
        after_s = simulated(fewer, strategy, fabric, simulator).iteration_time_s
    except TopoOptError:
        return 0.0
    return min(fewer.global_batch / job.global_batch * before_s / after_s, 1.0)
