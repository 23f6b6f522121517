"""What NCCL is told: the NICs of a server, a channel for each ring, each on a NIC of its own, and the environment.

The order of servers is beyond these files: for every channel NCCL joins node n to node n+1, in the order of ranks. Only
the MSCCL file, or a launcher's order of ranks, says more.

References
----------
.. [1] github.com/NVIDIA/nccl, ``src/graph/topo.cc``, ``xml.cc`` (topology) and ``search.cc`` (graphs): elements,
   attributes that must be there, units; ``dev`` of a graph is hexadecimal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from topoopt.base.errors import Infeasible
from topoopt.catalog import find_accelerator
from topoopt.plans.inventory import Interface, Server
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.group_collectives import ring_collectives
from topoopt.plugins.exports.hosts import servers_of

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
