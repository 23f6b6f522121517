"""The AllReduce of every group of replicas along its rings, as MSCCL's XML: one channel for each ring."""

import json

from topoopt.collectives import rings_xml
from topoopt.errors import Infeasible
from topoopt.export.deployment import Deployment
from topoopt.export.format import Contents


def msccl(deployment: Deployment) -> Contents:
    """Return a file for each group, whose ranks are its members in ascending order, and a list of the groups.

    Raises
    ------
    Infeasible
        If no servers AllReduce anything, or rings have more steps or messages than such a file holds.
    """
    rings = {
        members: found
        for members, found in deployment.plan.fabric.rings.items()
        if found and len(members) > 1
    }
    if not rings:
        raise Infeasible("the plan has no AllReduce between servers, and so no rings")
    files: dict[str, str] = {}
    listed = []
    for number, (members, found) in enumerate(rings.items()):
        name = "allreduce.xml" if len(rings) == 1 else f"allreduce-{number:0{len(str(len(rings) - 1))}}.xml"
        rank = {server: place for place, server in enumerate(members)}
        orders = [[rank[server] for server in ring.members] for ring in found]
        files[name] = rings_xml(orders, f"topoopt-{len(orders)}-rings-of-{len(members)}")
        strides = [ring.stride for ring in found]
        hosts = [deployment.inventory.servers[server].name for server in members]
        listed.append({"file": name, "servers": hosts, "strides": strides})
    return {**files, "groups.json": json.dumps(listed, indent=1) + "\n"}
