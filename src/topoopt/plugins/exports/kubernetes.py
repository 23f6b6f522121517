"""What Kubernetes is told: labels of nodes, and a topology for Kueue, so that a job gets servers wired together.

A label says where a node is in the wiring; it does not decide which pod gets which rank. The label ``topoopt/rank`` is
for job controllers that place pods by node affinity, or sort them.

References
----------
.. [1] kueue.sigs.k8s.io, Topology Aware Scheduling: ``Topology`` and ``ResourceFlavor`` of ``kueue.x-k8s.io/v1beta2``;
   ``kubernetes.io/hostname`` only as the lowest level.
.. [2] github.com/NVIDIA/topograph: ``fabric.topograph.run/tier-0``.
"""

import re

from topoopt.base.errors import Infeasible
from topoopt.plans.inventory import Server
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.hosts import servers_of

SHARD = "topoopt"
TIER, RANK, RACK = "fabric.topograph.run/tier-0", "topoopt/rank", "topoopt/rack"
_COMMAND = "kubectl label node {node} --overwrite {labels}\n"
_NODE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def kubernetes(deployment: Deployment) -> Contents:
    """Return a script that labels nodes, and Kueue's objects.

    Raises
    ------
    Infeasible
        If a server or a rack has a name that no node or label can have.
    """
    servers = servers_of(deployment)
    for server in servers:
        if not _NODE.fullmatch(server.name):
            raise Infeasible(
                f'server "{server.name}": a node is called by small letters, digits, - and . alone'
            )
        if not _VALUE.fullmatch(server.rack):
            raise Infeasible(f'rack "{server.rack}": a label has at most 63 letters, digits, -, _ and .')
    lines = [_label(rank, server) for rank, server in enumerate(servers)]
    return {"label-nodes.sh": "".join(("#!/bin/sh\n", "set -e\n", *lines)), "kueue.yaml": KUEUE}


def _label(rank: int, server: Server) -> str:
    return _COMMAND.format(node=server.name, labels=f"{TIER}={SHARD} {RANK}={rank} {RACK}={server.rack}")


KUEUE = f"""\
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata:
  name: {SHARD}
spec:
  levels:
  - nodeLabel: {TIER}
  - nodeLabel: kubernetes.io/hostname
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: {SHARD}
spec:
  nodeLabels:
    {TIER}: {SHARD}
  topologyName: {SHARD}
"""
"""The levels of the network, and the nodes that have them."""
