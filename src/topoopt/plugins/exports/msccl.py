"""The collectives of every group of replicas as MSCCL's XML: along its rings, and by broadcast.

An AllReduce has a channel for each ring. The broadcast is written where the plan's AllReduces go by it; other
algorithms of plans are known to simulators alone.
"""

import json
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.collectives import (
    all_gather,
    along_orders,
    broadcast_transfers,
    msccl_xml,
    reduce_scatter,
    rings_xml,
    transfers_of,
)
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.group_collectives import ALLREDUCE, ring_collectives

BROADCAST = "bfb"
LARGEST_BYTES = 2**63 - 1
_PARTS = {"reduce-scatter": reduce_scatter, "all-gather": all_gather}
"""Halves of an AllReduce that some jobs ask for on their own."""


def msccl(deployment: Deployment) -> Contents:
    """Return the files of each group, whose ranks are its members in ascending order, and a list of the groups.

    Raises
    ------
    Infeasible
        If no servers AllReduce anything, or rings have more steps or messages than such a file holds.
    """
    fabric, kinds = deployment.plan.fabric, ring_collectives(deployment)
    groups = {members: rings for members, rings in fabric.rings.items() if rings and len(members) > 1}
    if not groups:
        raise Infeasible("the plan has no AllReduce between servers, and so no rings")
    digits, files, listed = len(str(len(groups) - 1)), dict[str, str](), list[dict[str, Any]]()
    for number, (members, rings) in enumerate(groups.items()):
        ending = "" if len(groups) == 1 else f"-{number:0{digits}}"
        rank = {server: place for place, server in enumerate(members)}
        orders = [[rank[server] for server in ring.members] for ring in rings]
        written = {kind: f"{kind}{ending}.xml" for kind in (kinds.get(members) or (ALLREDUCE,))}
        files |= {name: _along_rings(kind, orders) for kind, name in written.items()}
        if ALLREDUCE in written and (text := _broadcast(deployment, members)):
            written[BROADCAST] = f"{ALLREDUCE}{ending}-{BROADCAST}.xml"
            files[written[BROADCAST]] = text
        hosts = [deployment.inventory.servers[server].name for server in members]
        listed.append({"servers": hosts, "strides": [ring.stride for ring in rings], "files": written})
    ways = sorted(deployment.plan.outcome.algorithms) or ["ring"]
    return {**files, "groups.json": json.dumps({"algorithms": ways, "groups": listed}, indent=1) + "\n"}


def _along_rings(kind: str, orders: list[list[int]]) -> str:
    name = f"topoopt-{kind}-on-{len(orders)}-rings-of-{len(orders[0])}"
    if kind == ALLREDUCE:
        return rings_xml(orders, name)
    part = transfers_of(_PARTS[kind](len(orders[0])))
    try:
        return msccl_xml(along_orders(part, orders), name, (0, LARGEST_BYTES))
    except InvalidInput as error:
        raise Infeasible(str(error)) from None


def _broadcast(deployment: Deployment, members: tuple[int, ...]) -> str:
    """Return the breadth-first broadcast on a group's own links; nothing where the plan has none, or no room for it."""
    if BROADCAST not in deployment.plan.outcome.algorithms:
        return ""
    transfers = broadcast_transfers(deployment.plan.fabric.topology, members)
    if transfers is None:
        return ""
    try:
        return msccl_xml(transfers, f"topoopt-{BROADCAST}-of-{len(members)}", (0, LARGEST_BYTES))
    except (Infeasible, InvalidInput):
        return ""
