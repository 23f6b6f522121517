"""What one failure of each kind does to a plan, simulated once for all that are alike."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from topoopt.errors import Infeasible
from topoopt.failure.failed import (
    FailedInterface,
    FailedLink,
    FailedPanel,
    FailedServer,
    Failure,
    plan_wiring,
)
from topoopt.failure.phases import move_time_s
from topoopt.failure.predict import predict
from topoopt.failure.rates import FailureRates
from topoopt.failure.situation import situation
from topoopt.failure.with_moves import spare_server
from topoopt.plan import Plan
from topoopt.rewiring import Patch, Wiring

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

    failure: Failure
    weight: float
    speed_meanwhile: float
    speed: float
    move_time_s: float
    repair: str
    spare_time_s: float = 0.0


Progress = Callable[[str, int, int], None]


def effects(
    plan: Plan,
    rates: FailureRates,
    *,
    simulator: str = "analytic",
    on_progress: Progress = lambda stage, done, total: None,
) -> dict[str, tuple[Effect, ...]]:
    """Return the effects of every kind of part that can fail.

    A circulant looks the same from every server, so one link of each stride stands for all of it; what its transfers
    differ in from server to server is left aside. Elsewhere a few parts, evenly spaced, stand for all.
    """
    wiring = plan_wiring(plan)
    asked = [
        (kind, failure, weight)
        for kind in rates.parts
        for failure, weight in _representatives(kind, plan, wiring)
    ]
    found: dict[str, list[Effect]] = {kind: [] for kind in rates.parts}
    for index, (kind, failure, weight) in enumerate(asked):
        on_progress(f"simulating: {failure} fails", index, len(asked))
        found[kind].append(_effect(plan, failure, weight, rates, simulator))
    return {kind: tuple(some) for kind, some in found.items()}


def _effect(plan: Plan, failure: Failure, weight: float, rates: FailureRates, simulator: str) -> Effect:
    spare_time_s = 0.0
    if isinstance(failure, FailedServer) and rates.move_fibers:
        spare_time_s = move_time_s(spare_server(situation(plan, failure)), rates.optics)
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
        move_time_s(chosen.repair, rates.optics),
        chosen.way.name,
        spare_time_s,
    )


def _left_out(rates: FailureRates) -> tuple[str, ...]:
    left = {"spare"}  # whether one is free is decided failure by failure
    if not rates.look_ahead:
        left.add("look-ahead")
    if not rates.move_fibers:
        left |= {"borrow", "re-plan", "look-ahead", "fewer-servers"}
    return tuple(sorted(left))


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
