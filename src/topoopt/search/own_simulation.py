"""A plan's iteration simulated anew, in the way in which the plan's own figures came about."""

from topoopt.plans import Plan
from topoopt.search.comparison import asked_of
from topoopt.search.fidelity import as_settled
from topoopt.search.worth import simulated
from topoopt.simulation import SimResult, collective_options


def own_simulation(plan: Plan) -> SimResult:
    """Return what the plan's simulator says of an iteration, with collectives as the plan has settled them."""
    options = as_settled(collective_options(asked_of(plan)), plan.outcome)
    return simulated(plan.job, plan.strategy, plan.fabric, plan.outcome.simulator, options)
