"""Which rank runs where: what sets the order of servers in a job, since rings follow the order of ranks.

PyTorch sorts the ranks of every group, and NCCL joins servers in the order of their ranks; so who is whose neighbor is
said by the launcher alone. Rank r of the plan is on the r-th server, with the ranks of its accelerators behind each
other. Where the r-th and the next server have no link, there is a second set of files, in the order of a ring.
"""

import re

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.hosts import hosts_of, linked_ring

PORT = 29500
"""Where PyTorch's ranks meet if nothing else is said."""

_HOST = re.compile(r"[A-Za-z0-9._-]+")
_COMMAND = (
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
    return {
        f"{folder}rankfile": ranks,
        f"{folder}hostfile": "".join(f"{host} slots={each}\n" for host in hosts),
        f"{folder}torchrun.tsv": _torchrun(hosts, each),
        f"{folder}slurm-hosts": "".join(f"{host}\n" for host, _ in places),
    }


def _torchrun(hosts: list[str], each: int) -> str:
    """Return what to start where: with a static meeting point ranks are in the order of the nodes' ranks."""
    where = {"nodes": len(hosts), "each": each, "first": hosts[0], "port": PORT}
    rows = (_COMMAND.format(rank=rank, host=host, **where) for rank, host in enumerate(hosts))
    return "".join(("node_rank\thost\tcommand\n", *rows))
