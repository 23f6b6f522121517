"""Routes for FRR: of each server a ``frr.conf`` with static routes, and what FRR does not do beside it."""

from collections.abc import Iterator

from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.iproute2 import RULE_PREFERENCE
from topoopt.plugins.exports.server_network import MTU_BYTES, ServerNetwork
from topoopt.plugins.exports.sysctl import sysctl_file
from topoopt.routing.forwarding import Route

LARGEST_WEIGHT = 255
"""Of a next hop of a static route of FRR."""
_WEIGHTS = """\
! Next hops have weights: needs static routes with weights (FRR pull request 20559, 2026).
"""


def frr(deployment: Deployment) -> Contents:
    """Return ``frr.conf``, ``sysctl.conf`` and ``ip.batch`` in a folder for each server.

    Tables by source are FRR's own (``table N``), the rules that lead to them are in ``ip.batch`` beside it, with MTUs
    and whom fibers lead to, for FRR sets none of the three.
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
