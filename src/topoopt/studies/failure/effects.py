"""What one failure of each kind does to a plan, simulated once for all that are alike."""

from collections.abc import Iterable
from dataclasses import dataclass

from topoopt.base.errors import Infeasible
from topoopt.finder.rewiring import Patch, Wiring
from topoopt.plans import Plan
from topoopt.studies.failure.failed import (
    FailedInterface,
    FailedLink,
    FailedPanel,
    FailedServer,
    Failure,
    plan_wiring,
    situation,
)
from topoopt.studies.failure.phases import move_time_s
from topoopt.studies.failure.predict import Progress, RepairRow, predict
from topoopt.studies.failure.rates import FailureRates
from topoopt.studies.failure.switches import LostBandwidth
from topoopt.studies.failure.ways import spare_server

MOST_REPRESENTATIVES = 4
"""Failures of one kind that are simulated where no two are alike."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a failure does until it is repaired.

    Attributes
    ----------
    weight : float
        Share of the parts of this kind that it stands for.
    speed_meanwhile, speed : float
        Samples per second over those without a failure, until fibers are moved and after; 0 where the job stands.
    move_time_s : float
        How long the moves take.
    spare_time_s : float
        Of a server: how long it takes to patch a spare one in its place.
    """

    failure: Failure | LostBandwidth
    weight: float
    speed_meanwhile: float
    speed: float
    move_time_s: float
    repair: str
    spare_time_s: float = 0.0


def effects(
    plan: Plan,
    rates: FailureRates,
    *,
    simulator: str = "analytic",
    on_progress: Progress = lambda stage, done, total: None,
) -> dict[str, tuple[Effect, ...]]:
    """Return the effects of every kind of part that can fail.

    A circulant looks the same from every server, so one link of each stride stands for all of it; what its transfers
    differ in from server to server is left aside. Elsewhere a few parts, evenly spaced, stand for all. There are no
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
        prediction = predict(plan, failure, simulator=simulator, without_ways=_left_out(rates))
    except Infeasible:
        return Effect(
            failure, weight, 0.0, 0.0, 0.0, "none: it stands until the part is repaired", spare_time_s
        )
    chosen = prediction.chosen
    return Effect(
        failure,
        weight,
        prediction.meanwhile.speed,
        chosen.speed,
        _moved_s(chosen, rates),
        chosen.way.name,
        spare_time_s,
    )


def _moved_s(chosen: RepairRow, rates: FailureRates) -> float:
    """Return how long a repair takes from the failure on; 0 where no fiber is moved."""
    return rates.moves_begin_s + move_time_s(chosen.repair, rates.optics) if chosen.moved_fibers else 0.0


def _left_out(rates: FailureRates) -> tuple[str, ...]:
    if not rates.move_fibers:
        return ("spare", "borrow", "re-plan", "look-ahead", "fewer-servers")
    # Whether a spare server is free is decided failure by failure.
    return ("spare",) if rates.look_ahead else ("spare", "look-ahead")


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
    kinds: dict[int, list[Patch]] = {}
    for patch in wiring.patches:
        step = (patch.dst - patch.src) % servers
        kinds.setdefault(min(step, servers - step) if wiring.links == "duplex" else step, []).append(patch)
    return [
        (FailedLink(some[0].src, some[0].dst), len(some) / len(wiring.patches)) for some in kinds.values()
    ]


def _evenly(failures: Iterable[Failure]) -> list[tuple[Failure, float]]:
    every = list(failures)
    count = min(len(every), MOST_REPRESENTATIVES)
    return [(every[place * len(every) // count], 1 / count) for place in range(count)]
