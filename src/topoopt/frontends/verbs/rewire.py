"""``topoopt.rewire``: from one wiring to another, of plans or of wiring files, with the fewest moved fibers."""

from topoopt.base.errors import InvalidInput
from topoopt.finder.rewiring import Joined, order_moves, rewiring_times, wired_in_room
from topoopt.finder.rewiring import rewire as fewest_moves
from topoopt.frontends.verbs.input_sources import InventorySource, JoinedSource, inventory_of, joined_and_name
from topoopt.plans.inventory import GivenInventory, RewiringAnswer, circuits, completed, fitting
from topoopt.schema.words import checked_arguments


@checked_arguments
def rewire(
    old: JoinedSource,
    new: JoinedSource,
    *,
    keep_running: bool = False,
    relabel: bool = True,
    interfaces_per_panel: int | None = None,
    inventory: InventorySource | None = None,
) -> RewiringAnswer:
    """Return the fiber moves from one plan to the next, in order.

    Parameters
    ----------
    old, new
        Present and new wiring: a plan or its file, or a wiring file. Ports in a wiring file are those of the old
        cables.
    keep_running
        Keep the job running: never disconnect it, rename no server.
    relabel
        Whether rank r of the new plan may be on another server than r.
    interfaces_per_panel
        Interfaces of a server on one panel; by default the fewest that suffice.
    inventory
        Inventory of servers, interfaces, panels, ports and cables, or its file; missing parts are generated.

    Returns
    -------
    RewiringAnswer

    Raises
    ------
    InvalidInput
        If the two differ in their kind of links, have servers on switches, or are otherwise incompatible; for mistakes
        in the inventory, with the line.
    Infeasible
        If ports to be connected are on different panels of the inventory.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=4, fabrics=(), budget=20)
    >>> topoopt.rewire(plan, plan).rewiring.moved_fibers
    0
    """
    (before, old_name), (after, new_name) = joined_and_name(old), joined_and_name(new)
    if before.links != after.links:
        raise InvalidInput(
            f"{new_name}: links are {after.links}, those of {old_name} {before.links}; plan with links={before.links}"
        )
    if keep_running and before.servers != after.servers:
        raise InvalidInput(
            f"keep_running: {old_name} has {before.servers} servers, {new_name} {after.servers}; a job that runs on "
            "keeps its servers"
        )
    given = inventory_of(inventory).named(before.names)
    names = (old_name, new_name)
    how = (keep_running, relabel and not keep_running)
    if interfaces_per_panel is not None:
        with given.placed():
            return _answer(names, (before, after), given, interfaces_per_panel, how)
    degree = max(before.degree, after.degree)
    return fitting(given, degree, lambda width: _answer(names, (before, after), given, width, how))


def _answer(
    names: tuple[str, str],
    both: tuple[Joined, Joined],
    given: GivenInventory,
    interfaces_per_panel: int | None,
    how: tuple[bool, bool],
) -> RewiringAnswer:
    wiring, topology, room = wired_in_room(*both, interfaces_per_panel)
    inventory = completed(wiring, room, given)
    circuits(inventory, wiring, wiring.patches)
    keep_running, free = how
    rewiring = fewest_moves(wiring, topology, relabel=free)
    circuits(inventory, rewiring.old, rewiring.made)
    order = order_moves(rewiring, keep_running)
    times = rewiring_times(order, rewiring.old, room)
    return RewiringAnswer(*names, rewiring, order, times, free, inventory)
