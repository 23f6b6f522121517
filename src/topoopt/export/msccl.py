"""The AllReduce of every group of replicas as MSCCL's XML: along its rings, a channel each, and by broadcast.

The second is written where the plan's AllReduces go by it; other algorithms of plans are known to simulators alone.
"""

import json
from typing import Any

from topoopt.collectives import broadcast_transfers, msccl_xml, rings_xml
from topoopt.errors import Infeasible, InvalidInput
from topoopt.export.deployment import Deployment
from topoopt.export.format import Contents

BROADCAST = "bfb"
LARGEST_BYTES = 2**63 - 1


def msccl(deployment: Deployment) -> Contents:
    """Return the files of each group, whose ranks are its members in ascending order, and a list of the groups.

    Raises
    ------
    Infeasible
        If no servers AllReduce anything, or rings have more steps or messages than such a file holds.
    """
    fabric = deployment.plan.fabric
    groups = {members: rings for members, rings in fabric.rings.items() if rings and len(members) > 1}
    if not groups:
        raise Infeasible("the plan has no AllReduce between servers, and so no rings")
    digits, files, listed = len(str(len(groups) - 1)), dict[str, str](), list[dict[str, Any]]()
    for number, (members, rings) in enumerate(groups.items()):
        name = "allreduce" if len(groups) == 1 else f"allreduce-{number:0{digits}}"
        rank = {server: place for place, server in enumerate(members)}
        orders = [[rank[server] for server in ring.members] for ring in rings]
        files[f"{name}.xml"] = rings_xml(orders, f"topoopt-{len(orders)}-rings-of-{len(members)}")
        row = {
            "servers": [deployment.inventory.servers[server].name for server in members],
            "rings": f"{name}.xml",
            "strides": [ring.stride for ring in rings],
        }
        if BROADCAST in deployment.plan.outcome.algorithms and (text := _broadcast(deployment, members)):
            files[f"{name}-{BROADCAST}.xml"] = text
            row[BROADCAST] = f"{name}-{BROADCAST}.xml"
        listed.append(row)
    ways = sorted(deployment.plan.outcome.algorithms) or ["ring"]
    said = {"collectives": ways, "groups": listed}
    return {**files, "groups.json": json.dumps(said, indent=1) + "\n"}


def _broadcast(deployment: Deployment, members: tuple[int, ...]) -> str:
    """Return the breadth-first broadcast on a group's own links; nothing where there is none or no room for it."""
    transfers = broadcast_transfers(deployment.plan.fabric.topology, members)
    if transfers is None:
        return ""
    try:
        return msccl_xml(transfers, f"topoopt-{BROADCAST}-of-{len(members)}", (0, LARGEST_BYTES))
    except (Infeasible, InvalidInput):
        return ""
