"""The network of a plan as the fabric of a simulation."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.jobs import expecting
from topoopt.plans import Plan, read_plan
from topoopt.routing import Fabric
from topoopt.schema.words import FabricWords, pick
from topoopt.simulation import Placement, SimulatedJob

PLAN_FILES = (".json", ".yaml", ".yml")


def plan_of_fabric(words: Mapping[str, Any]) -> Plan | None:
    """Return the plan whose file the word ``fabric`` names, if it names one."""
    name = words.get("fabric")
    if not isinstance(name, str) or not (name.lower().endswith(PLAN_FILES) or os.sep in name):
        return None
    with expecting(name, "plan"):
        return read_plan(name)


def fabric_of_plan(
    plan: Plan, jobs: Sequence[SimulatedJob], words: Mapping[str, Any]
) -> tuple[Fabric, Placement]:
    """Return a plan's network, and the first of its servers for the only job.

    Raises
    ------
    InvalidInput
        If there are several jobs, the job has more servers than the plan, or another word describes the network.
    """
    others = [word for word in pick(words, FabricWords) if word != "fabric"]
    if others:
        raise InvalidInput(f"{others[0]}: {words['fabric']} says what its network is; leave it out")
    if len(jobs) > 1:
        raise InvalidInput("fabric: the network of a plan is for one job; describe one for several")
    servers, has = jobs[0].graph.servers, plan.fabric.topology.servers
    if servers > has:
        raise InvalidInput(f"fabric: {jobs[0].path} has {servers} servers, {words['fabric']} has {has}")
    return plan.fabric, (tuple(range(servers)),)
