"""Forwarding for RDMA, whose packets no kernel's tables see: tc rules between functions of the network cards.

Every port is in two functions, as the authors of TopoOpt did it: one with RDMA, by the name and MAC of the interface,
and one without, by the same name and a ``t``. What a MAC of the second kind is on comes to the kernel, where tc gives
it the MAC of the next stop and sends it on; what has the MAC of the first kind is for the RDMA engine of the server.
So a packet in transit always bears the MAC of the function without RDMA, and on its last hop that of the one with.
"""

from collections.abc import Iterable, Iterator

from topoopt.base.errors import Infeasible
from topoopt.base.limits import refuse_too_large
from topoopt.plugins.exports.deployment import Contents, Deployment
from topoopt.plugins.exports.server_network import LONGEST_NAME, MTU_BYTES, ServerNetwork
from topoopt.routing.forwarding import Addressing, Hop, Route

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
        files[f"{network.name}/rdma.sh"] = _script(network, deployment.prefixes)
        files[f"{network.name}/ip.batch"] = "\n".join(_ip(deployment, server, network)) + "\n"
        files[f"{network.name}/tc.batch"] = "\n".join(_tc(deployment.addressing, network)) + "\n"
    return files


def _script(network: ServerNetwork, prefixes: tuple[str, str]) -> str:
    clean = (
        f"tc qdisc del dev {one.name}{TRANSIT_SUFFIX} ingress 2>/dev/null || true"
        for one in network.interfaces
    )
    return _SCRIPT.format(
        name=network.name,
        suffix=TRANSIT_SUFFIX,
        mtu=MTU_BYTES,
        clean="\n".join(clean),
        prefixes=" ".join(prefixes),
    )


def _ip(deployment: Deployment, server: int, network: ServerNetwork) -> Iterator[str]:
    """Yield addresses, neighbors and routes of what the server itself sends.

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
    """Yield the rules of what comes through; those for one source are asked first."""
    for one in network.interfaces:
        yield f"qdisc add dev {one.name}{TRANSIT_SUFFIX} ingress_block {_BLOCK} ingress"
    known: dict[tuple[int, bool], str] = {}
    for table in network.tables:
        heads = _heads(1, f" src_ip {table.source}")
        yield from _rules(addressing, heads, table.routes, known)
    yield from _rules(addressing, _heads(1 + len(_PROTOCOLS), ""), network.main, known)


def _heads(preference: int, match: str) -> list[str]:
    """Return how rules begin, for both protocols."""
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
