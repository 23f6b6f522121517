"""Wirings from any source: a plan, its file, or a wiring file."""

import os
from dataclasses import replace

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.finder import hamiltonian_rings, one_way_rings
from topoopt.finder.rewiring import Joined, joined_by
from topoopt.jobs import expecting, is_plan
from topoopt.plans import Plan, plan_wiring, read_plan
from topoopt.plans.inventory import GivenInventory, Inventory, given_inventory, read_inventory
from topoopt.schema.files import read_text
from topoopt.topologies import DirectWiring, WiredRing
from topoopt.topologies.wirings import MOST_LINKS_OF_RINGS, PortedLinks, read_wiring_file

InventorySource = Inventory | str | os.PathLike[str]
"""An inventory, or the file of one."""
PlanSource = Plan | str | os.PathLike[str]
"""A plan, or the file of one."""
JoinedSource = Plan | str | os.PathLike[str]
"""A plan, the file of one, or a wiring file."""


def joined_and_name(source: JoinedSource) -> tuple[Joined, str]:
    """Return the joined servers and the source's name: its file, or ``plan``.

    Raises
    ------
    InvalidInput
        If the file is neither plan nor wiring, or the servers of the plan hang on switches.
    """
    name = "plan" if isinstance(source, Plan) else os.fspath(source)
    if not isinstance(source, Plan) and not is_plan_file(name):
        with expecting(name, "wiring", "plan"):
            return joined_by(*read_wiring_file(name)), name
    plan = source if isinstance(source, Plan) else read_plan(name)
    topology, cluster = plan.fabric.topology, plan.job.cluster
    if topology.nodes > topology.servers:
        raise InvalidInput(f"{name}: the servers of a {plan.fabric.name} hang on switches; nothing to rewire")
    return Joined(topology, cluster.degree, cluster.links, names=plan.server_names), name


def is_file_name(given: str | os.PathLike[str], names: tuple[str, ...]) -> bool:
    """Return whether a wiring is the name of a file: a path, or path-like text that is no known name."""
    if not isinstance(given, str):
        return True
    return given not in names and ("." in given or "/" in given or os.path.isfile(given))


def is_plan_file(path: str) -> bool:
    """Return whether a file is a plan, of whatever suffix."""
    with expecting(path, "wiring", "plan"):
        return read_text(path).lstrip().startswith("{") and is_plan(path)


def wiring_of_file(
    path: str, links: str | None = None, degree: int | None = None
) -> tuple[DirectWiring, PortedLinks | None]:
    """Return the wiring of a file, and its ports, if the file has them; of a plan its links.

    Raises
    ------
    InvalidInput
        If it is neither wiring nor plan, see :func:`topoopt.topologies.wirings.read_wiring_file`; if ``links`` or
        ``degree`` is given for a plan, which has its own.
    """
    if not is_plan_file(path):
        with expecting(path, "wiring", "plan"):
            return read_wiring_file(path, links, degree)
    for word, value in (("links", links), ("degree", degree)):
        if value is not None:
            raise InvalidInput(f"{word}: {path} is a plan, which says it; leave it out")
    return plan_wiring(read_plan(path), path), None


def with_rings(wiring: DirectWiring) -> DirectWiring:
    """Return the wiring with all the rings that can be found, where its making gives fewer than there are."""
    ways = 2 if wiring.links == "duplex" else 1
    if len(wiring.arcs[0]) > MOST_LINKS_OF_RINGS:
        return wiring
    if len(wiring.rings) >= wiring.degree // ways or any(ring.share < 1 for ring in wiring.rings):
        return wiring
    search = hamiltonian_rings if ways == 2 else one_way_rings
    found = search(wiring.topology(), np.arange(wiring.servers), wiring.degree, 0)[::ways]
    if len(found) <= len(wiring.rings):
        return wiring
    return replace(wiring, rings=tuple(WiredRing(np.array(ring.members, np.int64)) for ring in found))


def plan_and_name(source: PlanSource) -> tuple[Plan, str]:
    """Return the plan and its name: its file, or ``plan``.

    Raises
    ------
    InvalidInput
        If the file is no whole plan.
    """
    if isinstance(source, Plan):
        return source, "plan"
    path = os.fspath(source)
    with expecting(path, "plan"):
        return read_plan(path), path


def inventory_of(source: InventorySource | None) -> GivenInventory:
    """Return the given inventory; empty for None.

    Raises
    ------
    InvalidInput
        If the file is no inventory, with the line.
    """
    if source is None:
        return GivenInventory()
    return given_inventory(source) if isinstance(source, Inventory) else read_inventory(source)
