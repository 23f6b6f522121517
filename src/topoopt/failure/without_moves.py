"""Repairs that move no fiber: other ways over the links that are left."""

from topoopt.errors import Infeasible
from topoopt.failure.detours import Rings, detoured_rings, rings_left, spread_rings
from topoopt.failure.repair import Repair
from topoopt.failure.situation import Situation
from topoopt.routing import Fabric


def on_detours(situation: Situation) -> Repair:
    """Relay around the dead links: what happens at once, by forwarding in the servers."""
    return _over(situation, detoured_rings(situation.topology, situation.plan.fabric.rings))


def on_whole_rings(situation: Situation) -> Repair:
    """Leave out the rings that are broken; the others carry their part."""
    left = rings_left(situation.topology, situation.plan.fabric.rings)
    if left is None:
        raise Infeasible("some group has no ring left that is whole, or none is broken")
    return _over(situation, left)


def on_spread_detours(situation: Situation) -> Repair:
    """Lay every ring several times, with different detours, so that no link has to carry twice as much."""
    return _over(situation, spread_rings(situation.topology, situation.plan.fabric.rings))


def _over(situation: Situation, rings: Rings) -> Repair:
    plan, topology = situation.plan, situation.topology
    fabric = Fabric(plan.fabric.name, topology, situation.routes, rings)
    return Repair(plan.job, plan.strategy, fabric, situation.left)
