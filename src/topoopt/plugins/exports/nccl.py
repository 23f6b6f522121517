"""Files for NCCL and RDMA: interfaces, a channel for each ring, and forwarding rules that RDMA traffic follows.

The order of servers is beyond these files: for every channel NCCL joins node n to node n+1, in the order of ranks.
Only the MSCCL file, or a launcher's order of ranks, specifies more.

In the MSCCL file an AllReduce has a channel for each ring. The broadcast is written where the plan's AllReduces go by
it; other algorithms of plans are known to simulators alone.

No kernel's tables see RDMA packets, so tc rules forward them between functions of the network cards. Every port
has two functions, as in the testbed of TopoOpt's authors: one with RDMA, with the name and MAC of the interface,
and one without, with the same name and a ``t``. Packets to a MAC of the second kind reach the kernel, where tc
sets the MAC of the next stop and sends them on; packets to a MAC of the first kind go to the RDMA engine of the
server. So a packet in transit always has the MAC of the function without RDMA, and on its last hop that of the one
with.

References
----------
.. [1] github.com/NVIDIA/nccl, ``src/graph/topo.cc``, ``xml.cc`` (topology) and ``search.cc`` (graphs): elements,
   attributes that must be there, units; ``dev`` of a graph is hexadecimal.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import refuse_too_large
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
from topoopt.plans.inventory import Interface
from topoopt.plugins.exports.deployment import LONGEST_NAME, MTU_BYTES, Contents, Deployment, ServerNetwork
from topoopt.plugins.exports.job_schedulers import servers_of
from topoopt.routing.forwarding import Addressing, Hop, Route
from topoopt.search import task_graph_of
from topoopt.simulation import COLLECTIVES

TRANSIT_SUFFIX = "t"
_BLOCK = 1
"""Number of the rules' block: all ports of a server have the same."""
_PROTOCOLS = (("ip", "flower"), ("802.1Q", "flower vlan_ethtype ip"))
"""Untagged, and with the priority of RoCE in a VLAN tag."""
_BYTES_OF_A_RULE = 250
_SCRIPT = """\
#!/bin/sh
# RDMA forwarding of {name}, as root; each port is in two functions, X with RDMA and X{suffix} without.
# The identities are addresses of every function with RDMA, so that each has a GID of each; MTU {mtu}.
set -eu
cd "$(dirname "$0")"
{clean}
for prefix in {prefixes}; do ip -4 address flush to "$prefix"; done
ip -batch ip.batch
tc -batch tc.batch
"""
ALLREDUCE = "allreduce"
ON_RINGS = (ALLREDUCE, "all-gather", "reduce-scatter")
BROADCAST = "bfb"
LARGEST_BYTES = 2**63 - 1
_PARTS = {"reduce-scatter": reduce_scatter, "all-gather": all_gather}
"""Halves of an AllReduce that some jobs ask for on their own."""
CAPABILITIES = {
    "Volta": 70,
    "Turing": 75,
    "Ampere": 80,
    "Ampere GA102": 86,
    "Ada": 89,
    "Hopper": 90,
    "Blackwell": 100,
    "Blackwell Ultra": 103,
    "Blackwell GB202": 120,
    "Blackwell GB10": 121,
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
    """Hardware of a server: accelerators with their capability, NICs with their speed."""

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
    cluster = deployment.plan.job.cluster
    accelerator = find_accelerator(cluster.accelerator)
    if accelerator.architecture not in CAPABILITIES:
        raise Infeasible(f"{accelerator.name} is no accelerator that NCCL is known to run on")
    largest = max(deployment.plan.fabric.rings, key=len, default=())
    channels = len(deployment.plan.fabric.rings.get(largest, ()))
    if not channels:
        raise Infeasible("the plan has no AllReduce between servers, and so no rings")
    machine = _Machine(
        cluster.accelerators_per_server,
        CAPABILITIES[accelerator.architecture],
        cluster.link_bandwidth_bps,
        cluster.intra_server_bandwidth_bps,
        channels,
        tuple(sorted({kind for kinds in ring_collectives(deployment).values() for kind in kinds})),
    )
    degree = deployment.plan.job.cluster.degree
    nics = {server.name: server.interfaces[:degree] for server in servers_of(deployment)}
    alike = len({tuple((one.name, one.rdma_device) for one in each) for each in nics.values()}) == 1
    # a row for each collective: by rings at every size, on any number of nodes and ranks
    names = [kind.replace("-", "") for kind in machine.collectives]
    tuner = "".join(f"{name},0,{2**64 - 1},ring,simple,{machine.channels},-1,-1\n" for name in names)
    files = {"README.txt": README, "graph.xml": _graph(machine, degree), "tuner.csv": tuner}
    for server in servers_of(deployment)[: 1 if alike else None]:
        folder = "" if alike else f"{server.name}/"
        # one server: everything on one processor, at PCI addresses one after the other
        files[f"{folder}topology.xml"] = "\n".join(_topology_lines(machine, nics[server.name])) + "\n"
        files[f"{folder}nccl.env"] = _environment(machine, nics[server.name])
    return files


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
    """Return the channels of the ring graph: all accelerators of the server between two passes of one NIC.

    Accelerators are named by ``dev`` alone, so that the file holds on every server: NCCL takes a ``rank`` beside it for
    the rank in the communicator, and looks the rank up by ``dev`` where there is none.
    """
    inter, intra = machine.bandwidth_bps / 8e9, machine.intra_bps / 8e9
    within = "".join(f'<gpu dev="{place:x}"/>' for place in range(machine.accelerators))
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
    """Return the variables of every rank; a name after = is exact, not a prefix."""
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


def rdma_rules(deployment: Deployment) -> Contents:
    """Return ``rdma.sh``, ``ip.batch`` and ``tc.batch`` in a folder for each server.

    Raises
    ------
    Infeasible
        If routes have several next hops: a rule has one; if there is not the memory.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section 6, RDMA forwarding.
    """
    if deployment.splits:
        raise Infeasible(
            "a tc rule sends on to one next hop; export with paths=pinned, an address for each path"
        )
    for network in deployment.networks:
        for one in network.interfaces:
            if len(one.name + TRANSIT_SUFFIX) > LONGEST_NAME:
                raise Infeasible(
                    f"inventory: {network.name}: interface {one.name}: too long for a second function, "
                    f"{one.name}{TRANSIT_SUFFIX}; {LONGEST_NAME - len(TRANSIT_SUFFIX)} characters at most"
                )
    rules = len(_PROTOCOLS) * len(deployment.tables)
    refuse_too_large(f"{rules} tc rules", 2 * _BYTES_OF_A_RULE * rules, "leave this format out")
    files = {}
    for server, network in enumerate(deployment.networks):
        clean = (
            f"tc qdisc del dev {one.name}{TRANSIT_SUFFIX} ingress 2>/dev/null || true"
            for one in network.interfaces
        )
        files[f"{network.name}/rdma.sh"] = _SCRIPT.format(
            name=network.name,
            suffix=TRANSIT_SUFFIX,
            mtu=MTU_BYTES,
            clean="\n".join(clean),
            prefixes=" ".join(deployment.prefixes),
        )
        files[f"{network.name}/ip.batch"] = "\n".join(_ip(deployment, server, network)) + "\n"
        files[f"{network.name}/tc.batch"] = "\n".join(_tc(deployment.addressing, network)) + "\n"
    return files


def _ip(deployment: Deployment, server: int, network: ServerNetwork) -> Iterator[str]:
    """Yield addresses, neighbors and routes for the server's own traffic.

    A neighbor has two addresses and two MACs: that of the cable's end, with RDMA, and its identity, for transit.
    """
    addressing, inventory = deployment.addressing, deployment.inventory
    for end in addressing.ends_of_servers[server]:
        name, far = addressing.interface_name(end), addressing.end(end ^ 1)
        known = inventory.servers[server].interfaces[addressing.end(end).interface].mac
        if not known:
            yield f"link set dev {name} address {addressing.mac(end)}"
        yield f"link set dev {name}{TRANSIT_SUFFIX} address {addressing.transit_mac(end)}"
        yield f"link set dev {name} mtu {MTU_BYTES} up"
        yield f"link set dev {name}{TRANSIT_SUFFIX} mtu {MTU_BYTES} up"
        yield from (f"address replace {identity}/32 dev {name}" for identity in network.identities)
        yield f"address replace {addressing.link_address(end)}/31 dev {name}"
        if addressing.duplex or end % 2 == 0:
            transit = addressing.identity(far.server), addressing.transit_mac(end ^ 1)
            for address, mac in ((addressing.link_address(end ^ 1), addressing.mac(end ^ 1)), transit):
                yield f"neighbor replace {address} lladdr {mac} dev {name} nud permanent"
    for route in network.main:
        (hop,) = route.hops
        last = _is_last(addressing, route.address, hop)
        via = hop.via if last else addressing.identity(addressing.end(hop.end ^ 1).server)
        link = "" if last else " onlink"
        yield (
            f"route replace {route.address}/32 src {network.identities[0]} via {via} dev {hop.interface}{link}"
        )


def _tc(addressing: Addressing, network: ServerNetwork) -> Iterator[str]:
    """Yield the rules for relayed traffic; those for one source come first."""
    for one in network.interfaces:
        yield f"qdisc add dev {one.name}{TRANSIT_SUFFIX} ingress_block {_BLOCK} ingress"
    known: dict[tuple[int, bool], str] = {}
    for table in network.tables:
        heads = _heads(1, f" src_ip {table.source}")
        yield from _rules(addressing, heads, table.routes, known)
    yield from _rules(addressing, _heads(1 + len(_PROTOCOLS), ""), network.main, known)


def _heads(preference: int, match: str) -> list[str]:
    """Return the beginnings of rules, for both protocols."""
    return [
        f"filter add block {_BLOCK} protocol {protocol} pref {preference + place} {flower}{match} dst_ip "
        for place, (protocol, flower) in enumerate(_PROTOCOLS)
    ]


def _rules(
    addressing: Addressing, heads: list[str], routes: Iterable[Route], known: dict[tuple[int, bool], str]
) -> Iterator[str]:
    """Yield two rules for each route; ``known`` are the actions that others have had, by end and kind of hop."""
    for route in routes:
        hop = route.hops[0]
        key = hop.end, _is_last(addressing, route.address, hop)
        if key not in known:
            known[key] = _action(addressing, hop, last=key[1])
        for head in heads:
            yield f"{head}{route.address}{known[key]}"


def _action(addressing: Addressing, hop: Hop, last: bool) -> str:
    mac = addressing.mac(hop.end ^ 1) if last else addressing.transit_mac(hop.end ^ 1)
    return (
        f" action pedit ex munge eth dst set {mac} munge eth src set {addressing.transit_mac(hop.end)} "
        f"pipe action mirred egress redirect dev {hop.interface}{TRANSIT_SUFFIX}"
    )


def _is_last(addressing: Addressing, address: str, hop: Hop) -> bool:
    """Whether the next server is the one that the address is of."""
    return addressing.server_of(address) == addressing.end(hop.end ^ 1).server
