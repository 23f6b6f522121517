"""What NCCL is told: the NICs of a server, a channel for each ring, each on a NIC of its own, and the environment.

The order of servers is beyond these files: for every channel NCCL joins node n to node n+1, in the order of ranks. Only
the MSCCL file, or a launcher's order of ranks, says more.

The collectives of every group of replicas as MSCCL's XML: along its rings, and by broadcast.

An AllReduce has a channel for each ring. The broadcast is written where the plan's AllReduces go by it; other
algorithms of plans are known to simulators alone.

References
----------
.. [1] github.com/NVIDIA/nccl, ``src/graph/topo.cc``, ``xml.cc`` (topology) and ``search.cc`` (graphs): elements,
   attributes that must be there, units; ``dev`` of a graph is hexadecimal.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.collectives import (
    all_gather,
    along_orders,
    broadcast_transfers,
    msccl_xml,
    reduce_scatter,
    rings_xml,
    transfers_of,
)
from topoopt.plans.inventory import Interface, Server
from topoopt.plugins.exports.deployment import Contents, Deployment
from topoopt.plugins.exports.job_schedulers import servers_of
from topoopt.search import task_graph_of
from topoopt.simulation import COLLECTIVES

ALLREDUCE = "allreduce"
ON_RINGS = (ALLREDUCE, "all-gather", "reduce-scatter")
BROADCAST = "bfb"
LARGEST_BYTES = 2**63 - 1
_PARTS = {"reduce-scatter": reduce_scatter, "all-gather": all_gather}
"""Halves of an AllReduce that some jobs ask for on their own."""
CAPABILITIES = {
    "Volta": 70,
    "Ampere": 80,
    "Ampere GA102": 86,
    "Ada": 89,
    "Hopper": 90,
    "Blackwell": 100,
    "Blackwell Ultra": 103,
}
"""CUDA's compute capability by architecture (NVIDIA's list of CUDA GPUs)."""
_LANES = 'link_speed="16.0 GT/s PCIe" link_width="16"'
README = """\
topology.xml  The NICs and accelerators of a server (NCCL_TOPO_FILE). Names and speeds of NICs are those of the plan;
              PCI addresses, processor and lanes are made up: everything hangs on one processor. Of a real server let
              NCCL write the file (NCCL_TOPO_DUMP_FILE), and take the <net> lines from here.
graph.xml     A channel for each ring, sending and hearing on a NIC of its own (NCCL_GRAPH_FILE).
nccl.env      The environment of every rank: set -a; . ./nccl.env; set +a
tuner.csv     For NCCL's example tuner plugin: the collectives of replicas by rings.

What NCCL cannot be told: which server follows which. In every channel it joins node n to node n+1 in the order of
ranks, whatever these files say; rings of other strides then go along routes of several links. MSCCL (format msccl) runs
the rings of the plan; without it, give ranks in the order of one ring (format ranks).

Addresses: NCCL's sockets take the first address of each interface that nccl.env names, which are those of cables.
Routes of several links (formats iproute2, frr, netplan) lead to the servers' own addresses, on lo. Where ranks that
follow each other have no link, put a server's own address on a dummy interface, and name it in NCCL_SOCKET_IFNAME.
"""


@dataclass(frozen=True, slots=True)
class _Machine:
    """What a server has: accelerators with their capability, NICs with their speed."""

    accelerators: int
    capability: int
    bandwidth_bps: float
    intra_bps: float
    channels: int
    collectives: tuple[str, ...]


def nccl(deployment: Deployment) -> Contents:
    """Return the files of a server; in a folder for each server where their NICs are called differently.

    Raises
    ------
    Infeasible
        If the accelerators are none of NVIDIA's, or there is no AllReduce between servers.
    """
    machine = _machine(deployment)
    degree = deployment.plan.job.cluster.degree
    nics = {server.name: server.interfaces[:degree] for server in servers_of(deployment)}
    alike = len({tuple((one.name, one.rdma_device) for one in each) for each in nics.values()}) == 1
    files = {"README.txt": README, "graph.xml": _graph(machine, degree), "tuner.csv": _tuner(machine)}
    for server in servers_of(deployment)[: 1 if alike else None]:
        folder = "" if alike else f"{server.name}/"
        files[f"{folder}topology.xml"] = _topology(machine, server, nics[server.name])
        files[f"{folder}nccl.env"] = _environment(machine, nics[server.name])
    return files


def _machine(deployment: Deployment) -> _Machine:
    cluster = deployment.plan.job.cluster
    accelerator = find_accelerator(cluster.accelerator)
    if accelerator.architecture not in CAPABILITIES:
        raise Infeasible(f"{accelerator.name} is no accelerator that NCCL is known to run on")
    largest = max(deployment.plan.fabric.rings, key=len, default=())
    channels = len(deployment.plan.fabric.rings.get(largest, ()))
    if not channels:
        raise Infeasible("the plan has no AllReduce between servers, and so no rings")
    return _Machine(
        cluster.accelerators_per_server,
        CAPABILITIES[accelerator.architecture],
        cluster.link_bandwidth_bps,
        cluster.intra_server_bandwidth_bps,
        channels,
        tuple(sorted({kind for kinds in ring_collectives(deployment).values() for kind in kinds})),
    )


def _topology(machine: _Machine, server: Server, nics: tuple[Interface, ...]) -> str:
    """Return one server: everything on one processor, at PCI addresses one after the other."""
    return "\n".join(_topology_lines(machine, nics)) + "\n"


def _topology_lines(machine: _Machine, nics: tuple[Interface, ...]) -> Iterator[str]:
    yield '<system version="1">'
    yield '  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">'
    for place in range(machine.accelerators):
        yield f'    <pci busid="0000:{0x10 + place:02x}:00.0" class="0x030200" {_LANES}>'
        yield f'      <gpu dev="{place}" sm="{machine.capability}" rank="{place}" gdr="1"/>'
        yield "    </pci>"
    for place, nic in enumerate(nics):
        name = quoteattr(nic.rdma_device or nic.name)
        guid = f' guid="0x{nic.mac.replace(":", "").replace("-", "")}"' if nic.mac else ""
        yield f'    <pci busid="0000:{0x80 + place:02x}:00.0" class="0x020000" {_LANES}>'
        speed = f'speed="{round(machine.bandwidth_bps / 1e6)}"'  # Mbit/s
        yield f'      <nic><net name={name} dev="{place}" {speed} port="{1 + nic.port}"{guid} gdr="1"/></nic>'
        yield "    </pci>"
    yield "  </cpu>"
    yield "</system>"


def _graph(machine: _Machine, degree: int) -> str:
    """Return the channels of the ring graph: all accelerators of the server between two passes of one NIC."""
    inter, intra = machine.bandwidth_bps / 8e9, machine.intra_bps / 8e9
    within = "".join(f'<gpu dev="{place:x}" rank="{place}"/>' for place in range(machine.accelerators))
    channels = "".join(
        f'    <channel><net dev="{ring % degree:x}"/>{within}<net dev="{ring % degree:x}"/></channel>\n'
        for ring in range(machine.channels)
    )
    return (
        '<graphs version="1">\n'
        f'  <graph id="0" pattern="4" crossnic="0" nchannels="{machine.channels}" speedintra="{intra:g}" '
        f'speedinter="{inter:g}" latencyinter="0" typeintra="PHB" typeinter="PHB" samechannels="0">\n'
        f"{channels}  </graph>\n</graphs>\n"
    )


def _environment(machine: _Machine, nics: tuple[Interface, ...]) -> str:
    """Return the variables of every rank; a name behind = is the whole name, not what names begin with."""
    rows = [
        "NCCL_TOPO_FILE=topology.xml",
        "NCCL_GRAPH_FILE=graph.xml",
        "NCCL_ALGO=Ring",
        f"NCCL_MIN_NCHANNELS={machine.channels}",
        f"NCCL_MAX_NCHANNELS={machine.channels}",
        "NCCL_CROSS_NIC=0",
        f"NCCL_SOCKET_IFNAME=={','.join(nic.name for nic in nics)}",
    ]
    devices = [nic.rdma_device for nic in nics]
    if all(devices):
        rows.append(f"NCCL_IB_HCA=={','.join(devices)}")
    rows.append("NCCL_TUNER_CONFIG_FILE=tuner.csv")
    return "\n".join(rows) + "\n"


def _tuner(machine: _Machine) -> str:
    """Return a row for each collective: by rings at every size, on any number of nodes and ranks."""
    names = [kind.replace("-", "") for kind in machine.collectives]
    return "".join(f"{name},0,{2**64 - 1},ring,simple,{machine.channels},-1,-1\n" for name in names)


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


def ring_collectives(deployment: Deployment) -> Mapping[tuple[int, ...], tuple[str, ...]]:
    """Return the kinds by the sorted members of each group."""
    graph = task_graph_of(deployment.plan.job, deployment.plan.strategy)
    found: dict[tuple[int, ...], set[str]] = defaultdict(set)
    for task in graph.collectives.tolist():
        found[tuple(sorted(graph.members(task)))].add(COLLECTIVES[graph.collective[task]])
    return {members: tuple(kind for kind in ON_RINGS if kind in kinds) for members, kinds in found.items()}
