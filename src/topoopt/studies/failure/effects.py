"""Effect on a plan of one failure of each kind, simulated once for all equivalent parts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd

from topoopt.base.answers import Progress, silent
from topoopt.base.arrays import grouped
from topoopt.base.errors import Infeasible
from topoopt.finder.rewiring import Wiring
from topoopt.plans import Plan
from topoopt.pricing import Plane, network_bill, pricing_of
from topoopt.studies.failure.failure_rates import FailureRates
from topoopt.studies.failure.fault import (
    FailedInterface,
    FailedLink,
    FailedPanel,
    FailedServer,
    Failure,
    plan_wiring,
    situation,
)
from topoopt.studies.failure.predict import move_time_s, predict
from topoopt.studies.failure.repair import spare_server


@dataclass(frozen=True, slots=True)
class SwitchTier:
    """Switches of one tier, over all trees.

    Attributes
    ----------
    servers : int
        Servers that lose bandwidth with one of these switches.
    lost : float
        The share of its bandwidth that each of these loses.
    """

    name: str
    count: int
    servers: int
    lost: float


@dataclass(frozen=True, slots=True)
class LostBandwidth:
    """A dead part of a switched fabric, and the bandwidth that servers lose."""

    part: str
    servers: int
    lost: float

    def __str__(self) -> str:
        whom = "a server" if self.servers == 1 else f"each of {self.servers} servers"
        return f"{self.part}: {self.lost:.0%} of the bandwidth of {whom}"


MOST_REPRESENTATIVES = 4
"""Failures of one kind that are simulated where no two are alike."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a failure until it is repaired.

    Attributes
    ----------
    weight : float
        Share of the parts of this kind that it represents.
    speed_meanwhile, speed : float
        Samples per second over those without a failure, until fibers are moved and after; 0 where the job stops.
    move_time_s : float
        Duration of the moves.
    spare_time_s : float
        For a server, the time to patch a spare one in its place.
    """

    failure: Failure | LostBandwidth
    weight: float
    speed_meanwhile: float
    speed: float
    move_time_s: float
    repair: str
    spare_time_s: float = 0.0


def effects(
    plan: Plan, rates: FailureRates, *, simulator: str = "analytic", on_progress: Progress = silent
) -> dict[str, tuple[Effect, ...]]:
    """Return the effects of every kind of part that can fail.

    A circulant looks the same from every server, so one link of each stride represents all of it, ignoring
    differences between servers in its transfers. Elsewhere a few parts, evenly spaced, represent all. There are no
    packet switches in it.
    """
    wiring = plan_wiring(plan)
    cases = [
        (kind, failure, weight)
        for kind in rates.parts
        if kind != "switch"
        for failure, weight in _representatives(kind, plan, wiring)
    ]
    by_kind: dict[str, tuple[Effect, ...]] = {kind: () for kind in rates.parts if kind != "switch"}
    for index, (kind, failure, weight) in enumerate(cases):
        on_progress(f"simulating: {failure} fails", index, len(cases))
        by_kind[kind] += (_effect(plan, failure, weight, rates, simulator),)
    return by_kind


def _effect(plan: Plan, failure: Failure, weight: float, rates: FailureRates, simulator: str) -> Effect:
    spare_time_s = 0.0
    if isinstance(failure, FailedServer) and rates.move_fibers:
        spare_time_s = rates.moves_begin_s
        spare_time_s += move_time_s(spare_server(situation(plan, failure)), rates.optics)
    try:
        prediction = predict(
            plan, failure, simulator=simulator, without_ways=_left_out(rates), look_ahead=rates.look_ahead
        )
    except Infeasible:
        return Effect(
            failure, weight, 0.0, 0.0, 0.0, "none: it stands until the part is repaired", spare_time_s
        )
    chosen = prediction.chosen
    # how long a repair takes from the failure on; 0 where no fiber is moved
    moved_s = rates.moves_begin_s + move_time_s(chosen.repair, rates.optics) if chosen.moved_fibers else 0.0
    return Effect(
        failure, weight, prediction.meanwhile.speed, chosen.speed, moved_s, chosen.way.name, spare_time_s
    )


def _left_out(rates: FailureRates) -> tuple[str, ...]:
    if not rates.move_fibers:
        return ("spare", "borrow", "re-plan", "look-ahead", "fewer-servers")
    return ("spare",)  # whether a spare server is free is decided failure by failure


def _representatives(kind: str, plan: Plan, wiring: Wiring) -> list[tuple[Failure, float]]:
    servers = plan.job.cluster.servers
    match kind:
        case "server":
            return [(FailedServer(servers // 2), 1.0)]
        case "panel":
            return _evenly(FailedPanel(panel) for panel in range(wiring.panels))
        case "nic" if wiring.links == "directed":
            return _evenly(FailedInterface(servers // 2, i) for i in range(wiring.degree))
        case _:
            return _links(plan, wiring)


def _links(plan: Plan, wiring: Wiring) -> list[tuple[Failure, float]]:
    """Return a link of each stride of a circulant, by how many there are; elsewhere some, evenly spaced."""
    servers = plan.job.cluster.servers
    if not plan.fabric.topology.offsets:
        return _evenly(FailedLink(patch.src, patch.dst) for patch in wiring.patches)
    steps = ((patch.dst - patch.src) % servers for patch in wiring.patches)
    strides = (min(step, servers - step) if wiring.links == "duplex" else step for step in steps)
    kinds = grouped(zip(strides, wiring.patches, strict=True))
    return [
        (FailedLink(some[0].src, some[0].dst), len(some) / len(wiring.patches)) for some in kinds.values()
    ]


def _evenly(failures: Iterable[Failure]) -> list[tuple[Failure, float]]:
    every = list(failures)
    count = min(len(every), MOST_REPRESENTATIVES)
    return [(every[place * len(every) // count], 1 / count) for place in range(count)]


def switch_tiers(fabric: str, servers: int, interfaces: int, bandwidth_bps: float) -> tuple[SwitchTier, ...]:
    """Return the whole switches of a fabric by tier, bought by the default list; none without switches.

    Ports of a server in one tree are on one leaf. A leaf failure takes those ports from the servers below it, and
    a switch above it its share of the tree's bandwidth. Paths around it are used at once, by the routing.

    Raises
    ------
    InvalidInput
        If the fabric is unknown.
    Infeasible
        If no switches of the catalogue join the servers.

    Examples
    --------
    All interfaces of a small cluster are on one switch, which is cheap; a larger one has a tree for each.

    >>> switch_tiers("rail", 16, 4, 100e9)
    (SwitchTier(name='leaf', count=1, servers=16, lost=1.0),)
    >>> [(tier.name, tier.count, tier.servers, tier.lost) for tier in switch_tiers("rail", 512, 8, 400e9)]
    [('leaf', 32, 128, 0.125), ('spine', 16, 512, 0.0625)]
    """
    bill = network_bill(fabric, servers, interfaces, bandwidth_bps, pricing_of())
    return tuple(tier for plane in bill.planes for tier in _tiers(plane, servers, interfaces))


def _tiers(plane: Plane, servers: int, interfaces: int) -> Iterator[SwitchTier]:
    tree, share = plane.tree, plane.interfaces / interfaces
    yield SwitchTier("leaf", tree.leaves * plane.count, -(-servers // tree.leaves), share)
    if tree.aggregation:
        in_pod = gcd(tree.aggregation, tree.spines)  # each of a pod has a group of spines of its own
        behind = -(-servers * in_pod // tree.aggregation)
        yield SwitchTier("aggregation", tree.aggregation * plane.count, behind, share / in_pod)
    if tree.spines:
        yield SwitchTier("spine", tree.spines * plane.count, servers, share / tree.spines)
