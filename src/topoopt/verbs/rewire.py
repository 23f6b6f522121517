"""``topoopt.rewire``: from one wiring to another, of plans or of wiring files, with the fewest moved fibers."""

import os

from topoopt.errors import InvalidInput
from topoopt.plan import Plan, read_plan
from topoopt.rewiring import Joined, RewiringAnswer, joined_by, order_moves, rewiring_times, wired_in_room
from topoopt.rewiring import rewire as fewest_moves
from topoopt.verbs.plan_source import PlanSource
from topoopt.verbs.wiring_source import is_plan_file
from topoopt.wirings import read_wiring_file
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
        What is wired now and what comes: a plan or its file, or a wiring file. Ports that a wiring file says are
        those in which the old cables are.
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
        If the two have different kinds of links, servers that hang on switches, or do not go together otherwise.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=4, fabrics=(), budget=20)
    >>> topoopt.rewire(plan, plan).rewiring.moved_fibers
    0
    """
    (before, old_name), (after, new_name) = _joined(old), _joined(new)
    _check(before, old_name, after, new_name, keep_running)
    wiring, topology, room = wired_in_room(before, after, interfaces_per_panel)
    free = relabel and not keep_running
    rewiring = fewest_moves(wiring, topology, relabel=free)
    order = order_moves(rewiring, keep_running)
    return RewiringAnswer(
        old_name, new_name, rewiring, order, rewiring_times(order, rewiring.old, room), free
    )


def _joined(source: PlanSource) -> tuple[Joined, str]:
    """Return who is joined with whom, and what it is called: its file, or ``plan``."""
    name = "plan" if isinstance(source, Plan) else os.fspath(source)
    if not isinstance(source, Plan) and not is_plan_file(name):
        return joined_by(*read_wiring_file(name)), name
    plan = source if isinstance(source, Plan) else read_plan(name)
    topology, cluster = plan.fabric.topology, plan.job.cluster
    if topology.nodes > topology.servers:
        raise InvalidInput(f"{name}: the servers of a {plan.fabric.name} hang on switches; nothing to rewire")
    return Joined(topology, cluster.degree, cluster.links), name


def _check(was: Joined, old: str, comes: Joined, new: str, keep_running: bool) -> None:
    if was.links != comes.links:
        raise InvalidInput(
            f"{new}: links are {comes.links}, those of {old} {was.links}; plan with links={was.links}"
        )
    if keep_running and was.servers != comes.servers:
        raise InvalidInput(
            f"keep_running: {old} has {was.servers} servers, {new} {comes.servers}; a job that runs on "
            "keeps its servers"
        )
