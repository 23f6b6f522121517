"""Kubernetes: labels of nodes, and a topology for Kueue, so that a job gets servers wired together.

A label gives the place of a node in the wiring; it does not assign ranks to pods. The label ``topoopt/rank`` is
for job controllers that place pods by node affinity, or sort them.

Slurm: the servers of a plan are a block, wired among themselves; at most 16 of them are a ring, too.

A job's order of ranks is given by its host file, see the format ``ranks``.

Rank order: the order of servers in a job, since rings follow the order of ranks.

PyTorch sorts the ranks of every group, and NCCL joins servers in the order of their ranks; so the
launcher alone decides the neighbors. Rank r of the plan is on the r-th server; ranks of its accelerators are
consecutive. Where the r-th and the next server have no link, a second set of files follows the order of a ring.

References
----------
.. [1] kueue.sigs.k8s.io, Topology Aware Scheduling: ``Topology`` and ``ResourceFlavor`` of ``kueue.x-k8s.io/v1beta2``;
   ``kubernetes.io/hostname`` only as the lowest level.
.. [2] github.com/NVIDIA/topograph: ``fabric.topograph.run/tier-0``.
.. [3] slurm.schedmd.com: ``topology.conf`` (5), ``topology.yaml`` (5), from 25.05 on; ring topologies from 26.11 on.
"""

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.plans.inventory import Server
from topoopt.plugins.exports.deployment import Contents, Deployment

PORT = 29500
"""Default rendezvous port of PyTorch's ranks."""
_HOST = re.compile(r"[A-Za-z0-9._-]+")
_SLURM_COMMAND = (
    "{rank}\t{host}\ttorchrun --nnodes={nodes} --nproc-per-node={each} --node-rank={rank} "
    "--master-addr={first} --master-port={port}\n"
)
README = """\
rankfile       mpirun --rankfile rankfile (or --map-by rankfile:file=rankfile from Open MPI 5 on)
hostfile       mpirun --hostfile hostfile
torchrun.tsv   what to start on which server; with --master-addr ranks are in the order of --node-rank
slurm-hosts    SLURM_HOSTFILE=slurm-hosts srun --distribution=arbitrary
"""
RING_README = """\
ring-order/    the same files with ranks in the order of a ring of links, for jobs that are data parallel alone and run
               NCCL's own rings. Server r of the plan is not rank r there: what the plan puts on a server by its number,
               and the files of formats msccl and chakra, go with the files above.
"""
NAME = "topoopt"
MOST_OF_A_RING = 16
"""Nodes of a ring in topology.yaml."""
_FORBIDDEN = set(" \t,=[]#\"'")
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


def slurm(deployment: Deployment) -> Contents:
    """Return a block and a tree as topology.conf, a block as topology.yaml, and of few servers a ring as well.

    Raises
    ------
    Infeasible
        If a server has a name that Slurm's lists cannot hold.
    """
    hosts = hosts_of(deployment)
    for host in hosts:
        if _FORBIDDEN & set(host):
            raise Infeasible(
                f'server "{host}": Slurm reads no name with a space, comma, bracket, #, = or quotation mark'
            )
    nodes = hostlist(hosts)
    files = {
        "topology.conf": f"# TopologyPlugin=topology/block\nBlockName={NAME} Nodes={nodes}\nBlockSizes={len(hosts)}\n",
        "topology-tree.conf": f"# TopologyPlugin=topology/tree\nSwitchName={NAME} Nodes={nodes}\n",
        "topology.yaml": _yaml("block", f"block_sizes: [{len(hosts)}]", "blocks", "block", nodes),
    }
    order = linked_ring(deployment)
    if order and len(order) <= MOST_OF_A_RING:
        nodes = hostlist([hosts[server] for server in order])
        files["topology-ring.yaml"] = "# Slurm 26.11 or later\n" + _yaml("ring", "", "rings", "ring", nodes)
    return files


def _yaml(kind: str, sizes: str, several: str, one: str, nodes: str) -> str:
    rows = [
        f"- topology: {NAME}",
        "  cluster_default: true",
        f"  {kind}:",
        *([f"    {sizes}"] if sizes else []),
        f"    {several}:",
        f"      - {one}: {NAME}",
        f'        nodes: "{nodes}"',
    ]
    return "\n".join(rows) + "\n"


def rank_order(deployment: Deployment) -> Contents:
    """Return a rankfile and a hostfile of mpirun, a table for torchrun, and the host file of Slurm.

    Raises
    ------
    Infeasible
        If a server has a name that no host can have.
    """
    for host in hosts_of(deployment):
        if not _HOST.fullmatch(host):
            raise Infeasible(f'server "{host}": a host is called by letters, digits, _, - and . alone')
    hosts, each = hosts_of(deployment), deployment.plan.job.cluster.accelerators_per_server
    files = _files(hosts, each, "")
    ring = linked_ring(deployment)
    other = bool(ring) and ring != tuple(range(len(hosts)))
    if other:
        files |= _files([hosts[server] for server in ring], each, "ring-order/")
    return {**files, "README.txt": README + RING_README * other}


def _files(hosts: list[str], each: int, folder: str) -> dict[str, str]:
    places = [(host, slot) for host in hosts for slot in range(each)]
    ranks = "".join(f"rank {rank}={host} slot={slot}\n" for rank, (host, slot) in enumerate(places))
    # what to start where: with a static meeting point ranks are in the order of the nodes' ranks
    where = {"nodes": len(hosts), "each": each, "first": hosts[0], "port": PORT}
    rows = (_SLURM_COMMAND.format(rank=rank, host=host, **where) for rank, host in enumerate(hosts))
    torchrun = "".join(("node_rank\thost\tcommand\n", *rows))
    return {
        f"{folder}rankfile": ranks,
        f"{folder}hostfile": "".join(f"{host} slots={each}\n" for host in hosts),
        f"{folder}torchrun.tsv": torchrun,
        f"{folder}slurm-hosts": "".join(f"{host}\n" for host, _ in places),
    }


def servers_of(deployment: Deployment) -> tuple[Server, ...]:
    """Return the servers of the plan; rank r is on the r-th."""
    return deployment.inventory.servers[: deployment.plan.fabric.topology.servers]


def hosts_of(deployment: Deployment) -> list[str]:
    """Return their names."""
    return [server.name for server in servers_of(deployment)]


def linked_ring(deployment: Deployment) -> tuple[int, ...]:
    """Return all servers in the order of a ring whose neighbors have a link, from the first one on, or nothing.

    That of their numbers where it is one, else one of the plan's rings.
    """
    topology = deployment.plan.fabric.topology
    everyone = np.arange(topology.servers)
    if (topology.link_ids(everyone, np.roll(everyone, -1)) >= 0).all():
        return tuple(everyone.tolist())
    rings = deployment.plan.fabric.rings.get(tuple(everyone.tolist()), ())
    order = next((ring.members for ring in rings if ring.hops == len(ring.members)), ())
    first = order.index(0) if order else 0
    return order[first:] + order[:first]


def hostlist(names: Sequence[str]) -> str:
    """Return names as Slurm writes them: runs of numbers with equally many digits in brackets, in their order.

    Examples
    --------
    >>> hostlist(["gpu008", "gpu009", "gpu010", "login"])
    'gpu[008-010],login'
    """
    parts = [re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL) for name in names]
    keys = [(part[1], len(part[2]), int(part[2] or 0) - place) for place, part in enumerate(parts) if part]
    written, at = [], 0
    for (prefix, digits, _), run in groupby(keys):
        count = len(list(run))
        first, last = names[at], names[at + count - 1]
        at += count
        if not digits or count == 1:
            written += [first] * count
        else:
            written.append(f"{prefix}[{first[-digits:]}-{last[-digits:]}]")
    return ",".join(written)
