"""What Slurm is told: the servers of a plan are a block, wired among themselves; of at most 16, a ring, too.

A job's order of ranks is not said here but by its host file, see the format ``ranks``.

References
----------
.. [1] slurm.schedmd.com: ``topology.conf`` (5), ``topology.yaml`` (5), from 25.05 on; ring topologies from 26.11 on.
"""

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.hosts import hostlist, hosts_of, linked_ring

NAME = "topoopt"
MOST_OF_A_RING = 16
"""Nodes of a ring in topology.yaml."""
_FORBIDDEN = set(" \t,=[]#\"'")


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
