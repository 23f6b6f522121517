"""What failures do to a job on a switched fabric: parts, rates and effects, simulated with the bandwidth that is left.

A dead link or switch takes bandwidth from servers and cuts nothing off, as long as a server has another interface: the
links of a server are as much slower as it has lost of them. A server with one interface is gone with its link.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.errors import TopoOptError
from topoopt.jobs import Job, job_on
from topoopt.plans import Baseline, Plan
from topoopt.routing import Fabric
from topoopt.search import fabric_of_baseline, job_of_baseline, simulated, starting_strategy
from topoopt.studies.failure.effects import Effect
from topoopt.studies.failure.failed import FailedServer
from topoopt.studies.failure.rates import FailureRates, Rate
from topoopt.studies.failure.switches import LostBandwidth, SwitchTier, switch_tiers

ROUTED_AROUND = "routed around, until it is repaired"
STANDS = "none: it stands until the part is repaired"

LINKS = ("nic", "fiber")
"""Kinds of part that are the link of a server to its switch."""

EffectOf = Callable[[str, int, float, float], Effect]


@dataclass(frozen=True, eq=False)
class Exposure:
    """What of a fabric can fail, how often, and what that does.

    Attributes
    ----------
    counts : mapping from a kind of part to how many there are
    rates : FailureRates
        Of these kinds alone.
    effects : mapping from a kind of part to what its failures do
    """

    counts: dict[str, int]
    rates: FailureRates
    effects: dict[str, tuple[Effect, ...]]


def switched_exposure(plan: Plan, row: Baseline, rates: FailureRates, simulator: str) -> Exposure:
    """Return what can fail of a baseline with switches, and what that does to the job.

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
    """Return how many ports a server has on a baseline: the cluster's, or as many as its bandwidth takes."""
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
