"""``topoopt.rewire``: from the wiring of one plan to that of another with the fewest moved fibers."""

from topoopt.errors import InvalidInput
from topoopt.plan import Plan
from topoopt.rewiring import RewiringAnswer, order_moves, rewiring_times, wired_in_room
from topoopt.rewiring import rewire as fewest_moves
from topoopt.verbs.plan_source import PlanSource, plan_and_name
from topoopt.words import checked_arguments


@checked_arguments
def rewire(
    old: PlanSource,
    new: PlanSource,
    *,
    keep_running: bool = False,
    relabel: bool = True,
    interfaces_per_panel: int | None = None,
) -> RewiringAnswer:
    """Say which fibers to move, in which order, to get from one plan to the next.

    Parameters
    ----------
    old, new
        The plan that is wired now and the plan that comes, or their files.
    keep_running
        The job runs on meanwhile: never cut it, rename no server.
    relabel
        Whether rank r of the new plan may sit on another server than r.
    interfaces_per_panel
        Interfaces of a server on one panel; the fewest that do where not given.

    Returns
    -------
    RewiringAnswer

    Raises
    ------
    InvalidInput
        If the plans have different kinds of links, servers that hang on switches, or do not go together otherwise.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=4, fabrics=(), budget=20)
    >>> topoopt.rewire(plan, plan).rewiring.moved_fibers
    0
    """
    (before, old_name), (after, new_name) = plan_and_name(old), plan_and_name(new)
    _check(before, old_name, after, new_name, keep_running)
    wiring, topology, room = wired_in_room(
        (before.fabric.topology, before.job.cluster),
        (after.fabric.topology, after.job.cluster),
        interfaces_per_panel,
    )
    free = relabel and not keep_running
    rewiring = fewest_moves(wiring, topology, relabel=free)
    order = order_moves(rewiring, keep_running)
    return RewiringAnswer(
        old_name, new_name, rewiring, order, rewiring_times(order, rewiring.old, room), free
    )


def _check(before: Plan, old: str, after: Plan, new: str, keep_running: bool) -> None:
    for name, plan in ((old, before), (new, after)):
        if plan.fabric.topology.nodes > plan.fabric.topology.servers:
            raise InvalidInput(
                f"{name}: the servers of a {plan.fabric.name} hang on switches; nothing to rewire"
            )
    was, comes = before.job.cluster, after.job.cluster
    if was.links != comes.links:
        raise InvalidInput(
            f"{new}: links are {comes.links}, those of {old} {was.links}; plan with links={was.links}"
        )
    if keep_running and was.servers != comes.servers:
        raise InvalidInput(
            f"keep_running: {old} has {was.servers} servers, {new} {comes.servers}; a job that runs on "
            "keeps its servers"
        )
