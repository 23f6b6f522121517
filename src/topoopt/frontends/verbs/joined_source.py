"""Who is joined with whom, however it is given: a plan, its file, or a wiring file."""

import os

from topoopt.base.errors import InvalidInput
from topoopt.finder.rewiring import Joined, joined_by
from topoopt.frontends.verbs.wiring_source import is_plan_file
from topoopt.jobs import expecting
from topoopt.plans import Plan, read_plan
from topoopt.topologies.wirings import read_wiring_file

JoinedSource = Plan | str | os.PathLike[str]
"""A plan, the file of one, or a wiring file."""


def joined_and_name(source: JoinedSource) -> tuple[Joined, str]:
    """Return who is joined with whom, and what it is called: its file, or ``plan``.

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
