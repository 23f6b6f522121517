"""Static routes for FRR, a ``frr.conf`` per server, and a lab of containers that runs them.

Every node runs the script of its addresses and routes, which the format iproute2 has, too.

References
----------
.. [1] containerlab.dev: ``name`` and ``topology`` with ``nodes`` and ``links``; ``endpoints`` of ``node:interface``;
   ``binds`` of folders beside the file, ``exec`` once all links are there.
"""

import itertools
import json
import re
from collections.abc import Iterator

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.deployment import (
    MTU_BYTES,
    Contents,
    Deployment,
    ServerNetwork,
    SourceTable,
    csv_text,
)
from topoopt.plugins.exports.job_schedulers import hosts_of
from topoopt.routing import PathTable, path_table
from topoopt.routing.forwarding import Route, all_pairs, cables_in_turn

COLUMNS = ("src", "dst", "path", "weight", "addresses")
_PORT = re.compile(r"Ethernet\d+")
LANES = 4
"""Lanes per port: SONiC numbers ports by their first lane; used where the inventory's names are not SONiC's."""
RULE_PREFERENCE = 1000
"""Preference of all our rules: tables by source are looked up before the main one."""
PROTOCOL = 189
"""Number that marks routes of ours, so that those of another plan are found."""
_SCRIPT = """\
#!/bin/sh
# Addresses and routes of {name}, as root. What an earlier plan has left is taken away: rules of preference
# {preference}, routes of protocol {protocol}, addresses in {prefixes}.
set -eu
cd "$(dirname "$0")"
{settings}
while ip rule del preference {preference} 2>/dev/null; do :; done
ip route flush table all protocol {protocol} 2>/dev/null || true
for prefix in {prefixes}; do ip -4 address flush to "$prefix"; done
ip -batch {name}.batch
"""
LARGEST_WEIGHT = 255
"""Largest weight of a next hop of a static route in FRR."""
_WEIGHTS = """\
! Next hops have weights: needs static routes with weights (FRR pull request 20559, 2026).
"""
IMAGE = "frrouting/frr:v8.4.1"
"""A small one with iproute2; any other will do that has it."""
ROUTES = "routes"
"""The folder of scripts."""
MANAGEMENT = "eth0"
"""Interface reserved by containerlab."""
LONGEST_INTERFACE = 15
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_INTERFACE = re.compile(r"[^\s:/]+")


def containerlab(deployment: Deployment) -> Contents:
    """Return the lab.

    Raises
    ------
    Infeasible
        If links are one-way, or a name is none that a container or an interface of Linux can have.
    """
    if deployment.wiring.links != "duplex":
        raise Infeasible("links go one way; those of a lab go both ways")
    hosts = set(hosts_of(deployment))
    links = []
    for circuit in deployment.circuits:
        ends = [(cable.server, cable.interface) for cable in (circuit.cable_a, circuit.cable_b)]
        for server, interface in ends:
            if (
                not _INTERFACE.fullmatch(interface)
                or len(interface) > LONGEST_INTERFACE
                or interface == MANAGEMENT
            ):
                raise Infeasible(
                    f'interface "{interface}" of {server}: Linux has names of at most {LONGEST_INTERFACE} characters, '
                    f"and containerlab takes {MANAGEMENT} for itself"
                )
            hosts.add(server)
        links.append('    - endpoints: ["{}:{}", "{}:{}"]'.format(*ends[0], *ends[1]))
    for host in sorted(hosts):
        if not _NODE.fullmatch(host):
            raise Infeasible(f'server "{host}": a container is called by letters, digits, _, - and . alone')
    scripts = iproute2(deployment)
    nodes = [_node(host, f"{host}.sh" in scripts) for host in sorted(hosts)]
    rows = ("name: topoopt", "topology:", "  nodes:", *nodes, "  links:", *links)
    lab = {"topoopt.clab.yml": "\n".join(rows) + "\n"}
    return {**lab, **{f"{ROUTES}/{name}": text for name, text in scripts.items()}}


def _node(host: str, routed: bool) -> str:
    runs = f', binds: ["{ROUTES}:/{ROUTES}:ro"], exec: ["sh /{ROUTES}/{host}.sh"]' if routed else ""
    return f'    "{host}": {{kind: linux, image: "{IMAGE}"{runs}}}'


def frr(deployment: Deployment) -> Contents:
    """Return ``frr.conf``, ``sysctl.conf`` and ``ip.batch`` in a folder for each server.

    Tables by source are FRR's own (``table N``), the rules that lead to them are in ``ip.batch`` beside it, with MTUs
    and the neighbors at the fibers, for FRR sets none of the three.
    """
    files = {}
    for network in deployment.networks_of(LARGEST_WEIGHT):
        files[f"{network.name}/frr.conf"] = "\n".join(_conf(network)) + "\n"
        files[f"{network.name}/ip.batch"] = "\n".join(_beside(network)) + "\n"
        files[f"{network.name}/sysctl.conf"] = sysctl_file(network)
    return files


def _conf(network: ServerNetwork) -> Iterator[str]:
    routes = [line for route in network.main for line in _route(route, "")]
    for table in network.tables:
        where = f" table {table.number}"
        routes += (line for route in table.routes for line in _route(route, where))
    if any(" weight " in line for line in routes):
        yield _WEIGHTS.rstrip()
    yield from ("frr defaults datacenter", f"hostname {network.name}", "ip forwarding", "!", "interface lo")
    yield from (f" ip address {identity}/32" for identity in network.identities)
    yield from ("exit", "!")
    for one in network.interfaces:
        yield f"interface {one.name}"
        yield from (f" ip address {address}" for address in one.addresses)
        yield from ("exit", "!")
    yield from routes
    yield from ("!", "route-map identity permit 10", f" set src {network.identities[0]}", "exit", "!")
    yield "ip protocol static route-map identity"


def _beside(network: ServerNetwork) -> Iterator[str]:
    for one in network.interfaces:
        if one.mac:
            yield f"link set dev {one.name} address {one.mac}"
        yield f"link set dev {one.name} mtu {MTU_BYTES} up"
        for neighbor in one.neighbors:
            yield f"neighbor replace {neighbor.address} lladdr {neighbor.mac} dev {one.name} nud permanent"
    for table in network.tables:
        yield f"rule add preference {RULE_PREFERENCE} from {table.source} lookup {table.number}"


def _route(route: Route, more: str) -> Iterator[str]:
    alike = len({hop.weight for hop in route.hops}) == 1
    for hop in route.hops:
        weight = "" if alike else f" weight {hop.weight}"
        yield f"ip route {route.address}/32 {hop.via} {hop.interface}{weight}{more}"


def netplan(deployment: Deployment) -> Contents:
    """Return ``60-topoopt.yaml`` of /etc/netplan and ``60-topoopt.conf`` of /etc/sysctl.d in a folder for each server.

    Raises
    ------
    Infeasible
        If routes have several next hops, or links are fibers one way.
    """
    if not deployment.addressing.duplex:
        raise Infeasible(
            "it knows no static neighbors, and a fiber one way cannot be asked who is there; use iproute2"
        )
    if deployment.splits:
        raise Infeasible("it has no routes of several next hops; export with paths=pinned, or use iproute2")
    files = {}
    for network in deployment.networks:
        files[f"{network.name}/60-topoopt.yaml"] = "\n".join(_yaml(network)) + "\n"
        files[f"{network.name}/60-topoopt.conf"] = sysctl_file(network)
    return files


def _yaml(network: ServerNetwork) -> Iterator[str]:
    yield from ("network:", "  version: 2", "  renderer: networkd", "  ethernets:", "    lo:")
    yield "      addresses: [" + ", ".join(f"{identity}/32" for identity in network.identities) + "]"
    routes: dict[str, list[str]] = {one.name: [] for one in network.interfaces}
    for route in network.main:
        hop = route.hops[0]
        routes[hop.interface].append(_netplan_route(route, f"from: {network.identities[0]}"))
    for table in network.tables:
        for route in table.routes:
            routes[route.hops[0].interface].append(_netplan_route(route, f"table: {table.number}"))
    rules = [_rule(table) for table in network.tables]
    for one in network.interfaces:
        yield f'    "{one.name}":'
        yield f"      mtu: {MTU_BYTES}"
        yield "      addresses: [" + ", ".join(one.addresses) + "]"
        if routes[one.name]:
            yield "      routes:"
            yield from routes[one.name]
        if rules:  # they are of the server, but netplan wants them on an interface
            yield "      routing-policy:"
            yield from rules
            rules = []


def _netplan_route(route: Route, more: str) -> str:
    return f"        - {{to: {route.address}/32, via: {route.hops[0].via}, {more}}}"


def _rule(table: SourceTable) -> str:
    return f"        - {{from: {table.source}, table: {table.number}, priority: {RULE_PREFERENCE}}}"


def iproute2(deployment: Deployment) -> Contents:
    """Return ``SERVER.sh`` and ``SERVER.batch`` of every server; the script sets the kernel and reads the batch."""
    files = {}
    for network in deployment.networks:
        settings = (f"sysctl -qw {name}={value}" for name, value in kernel_settings(network).items())
        files[f"{network.name}.sh"] = _SCRIPT.format(
            name=network.name,
            settings="\n".join(settings),
            preference=RULE_PREFERENCE,
            protocol=PROTOCOL,
            prefixes=" ".join(deployment.prefixes),
        )
        files[f"{network.name}.batch"] = "\n".join(_batch(network)) + "\n"
    return files


def _batch(network: ServerNetwork) -> Iterator[str]:
    yield "link set dev lo up"
    yield from (f"address replace {identity}/32 dev lo" for identity in network.identities)
    for one in network.interfaces:
        if one.mac:
            yield f"link set dev {one.name} address {one.mac}"
        yield f"link set dev {one.name} mtu {MTU_BYTES} up"
        yield from (f"address replace {address} dev {one.name}" for address in one.addresses)
        for neighbor in one.neighbors:
            yield f"neighbor replace {neighbor.address} lladdr {neighbor.mac} dev {one.name} nud permanent"
    own = f" src {network.identities[0]}"
    yield from (_iproute2_route(route, own) for route in network.main)
    for table in network.tables:
        where = f" table {table.number}"
        yield from (_iproute2_route(route, where) for route in table.routes)
        yield f"rule add preference {RULE_PREFERENCE} from {table.source} lookup {table.number}"


def _iproute2_route(route: Route, more: str) -> str:
    begin = f"route replace {route.address}/32 protocol {PROTOCOL}{more}"
    if len(route.hops) == 1:
        return f"{begin} via {route.hops[0].via} dev {route.hops[0].interface}"
    hops = (f" nexthop via {hop.via} dev {hop.interface} weight {hop.weight}" for hop in route.hops)
    return begin + "".join(hops)


def kernel_settings(network: ServerNetwork) -> dict[str, int]:
    """Return the settings by name.

    Replies take other paths than requests, so that reverse path filtering is off: in ``all`` and on each interface,
    for the stricter of the two applies. The hash over next hops includes the ports. No ICMP redirects are sent, as
    they would be where a packet leaves on the interface that received it.
    """
    interfaces = ("all", "default", *(one.name for one in network.interfaces))
    return {
        "net.ipv4.ip_forward": 1,
        "net.ipv4.fib_multipath_hash_policy": 1,
        "net.ipv4.conf.all.send_redirects": 0,
        "net.ipv4.conf.default.send_redirects": 0,
        **{f"net.ipv4.conf.{name.replace('.', '/')}.rp_filter": 0 for name in interfaces},
    }


def sysctl_file(network: ServerNetwork) -> str:
    """Return the settings as a file of /etc/sysctl.d."""
    return "".join(f"{name} = {value}\n" for name, value in kernel_settings(network).items())


def sonic_routes(deployment: Deployment) -> Contents:
    """Return ``SERVER/config_db.json`` of every server, and ``ports.csv``: which interface is which port of SONiC.

    Raises
    ------
    Infeasible
        If tables are by source, next hops have different weights, or links are fibers one way.
    """
    if not deployment.addressing.duplex:
        raise Infeasible(
            "its static routes know no static neighbors, and a fiber one way cannot be asked who is there"
        )
    if deployment.tables.kind == "source":
        why = deployment.tables.reason(deployment.addressing.server_names)
        raise Infeasible(f"its static routes are by destination only; {why}")
    if any(len({hop.weight for hop in route.hops}) > 1 for one in deployment.networks for route in one.main):
        raise Infeasible("its static routes have no weights; export with paths=pinned, or use iproute2")
    files, rows = {}, [("server", "interface", "sonic_port")]
    for network in deployment.networks:
        names = [one.name for one in network.interfaces]
        if all(_PORT.fullmatch(name) for name in names):
            ports = dict(zip(names, names, strict=True))
        else:
            ports = {name: f"Ethernet{LANES * place}" for place, name in enumerate(names)}
        rows += [(network.name, *pair) for pair in ports.items()]
        loopback: dict[str, dict[str, str]] = {"Loopback0": {}}
        loopback |= {f"Loopback0|{identity}/32": {} for identity in network.identities}
        interfaces: dict[str, dict[str, str]] = {}
        for one in network.interfaces:
            interfaces[ports[one.name]] = {}
            interfaces |= {f"{ports[one.name]}|{address}": {} for address in one.addresses}
        routes = {f"default|{route.address}/32": _sonic_routes_route(route, ports) for route in network.main}
        config = {"LOOPBACK_INTERFACE": loopback, "INTERFACE": interfaces, "STATIC_ROUTE": routes}
        files[f"{network.name}/config_db.json"] = json.dumps(config, indent=1) + "\n"
    return {"ports.csv": csv_text(rows), **files}


def _sonic_routes_route(route: Route, ports: dict[str, str]) -> dict[str, str]:
    return {
        "nexthop": ",".join(hop.via for hop in route.hops),
        "ifname": ",".join(ports[hop.interface] for hop in route.hops),
        "distance": ",".join("0" for _ in route.hops),
    }


def pair_routes(deployment: Deployment) -> Contents:
    """Return ``routes.csv``: every path of every ordered pair, with its weight and the addresses that take it.

    Hashed paths of a pair share the one address of its destination. Pinned paths have their own, and over parallel
    cables several, which share the weight.
    """
    return {"routes.csv": csv_text([COLUMNS, *_rows(deployment)])}


def _rows(deployment: Deployment) -> Iterator[tuple[str, ...]]:
    topology, addressing = deployment.plan.fabric.topology, deployment.addressing
    src, dst = all_pairs(topology.servers)
    table = path_table(deployment.plan.fabric, src, dst)
    names, there = addressing.server_names, topology.dst[table.link].tolist()
    identity = [
        [addressing.identity(server, k) for k in range(addressing.identities)] for server in range(len(names))
    ]
    identities = deployment.tables.ways.identity.tolist()
    first_way = _first_ways(deployment, table)
    pairs = zip(src.tolist(), dst.tolist(), itertools.pairwise(table.pair_first.tolist()), strict=True)
    steps, weights = table.path_first.tolist(), table.weight.tolist()
    for a, b, (first, last) in pairs:
        for path in range(first, last):
            nodes = ">".join([names[a], *(names[node] for node in there[steps[path] : steps[path + 1]])])
            ways = [0] if first_way is None else identities[first_way[path] : first_way[path + 1]]
            yield (
                names[a],
                names[b],
                nodes,
                f"{weights[path]:.9g}",
                " ".join([identity[b][one] for one in ways]),
            )


def _first_ways(deployment: Deployment, table: PathTable) -> list[int] | None:
    """Return the first route of each path, each with its own address; None where paths have none."""
    if deployment.paths == "hashed":
        return None
    counts = cables_in_turn(deployment.plan.fabric.topology, table)
    first: list[int] = np.concatenate(([0], np.cumsum(counts))).tolist()
    return first
