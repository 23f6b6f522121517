"""The noun Situation: a plan, what has failed of it, and what is left."""

from dataclasses import dataclass
from functools import cached_property

from topoopt.failure.detours import DetouredRoutes
from topoopt.failure.failed import (
    Failure,
    broken_patches,
    plan_wiring,
    without,
    without_links,
)
from topoopt.plan import Plan
from topoopt.rewiring import Patch, Wiring
from topoopt.topology import Topology


@dataclass(frozen=True, eq=False)
class Situation:
    """A plan after a failure; make it with :func:`situation`.

    Attributes
    ----------
    wiring, left : Wiring
        All patches before, and those that still work; what has failed is dead there.
    broken : tuple of Patch
    topology : Topology
        The links that are left.
    """

    plan: Plan
    failure: Failure
    wiring: Wiring
    left: Wiring
    broken: tuple[Patch, ...]
    topology: Topology

    @cached_property
    def routes(self) -> DetouredRoutes:
        """The plan's routes over the links that are left."""
        return DetouredRoutes(self.topology, self.plan.fabric.routes)


def situation(plan: Plan, failure: Failure) -> Situation:
    """Return what a failure leaves of a plan.

    Raises
    ------
    InvalidInput
        If there is nothing like that in the plan to fail, or the plan's fabric has switches.
    """
    wiring = plan_wiring(plan)
    broken = broken_patches(failure, wiring, plan.job.cluster.servers)
    return Situation(
        plan,
        failure,
        wiring,
        without(wiring, failure, broken),
        broken,
        without_links(plan.fabric.topology, wiring, broken),
    )
