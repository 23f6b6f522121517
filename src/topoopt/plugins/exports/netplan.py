"""Routes for netplan: of each server a YAML file, and settings of the kernel."""

from collections.abc import Iterator

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.iproute2 import RULE_PREFERENCE
from topoopt.plugins.exports.server_network import MTU_BYTES, ServerNetwork, SourceTable
from topoopt.plugins.exports.sysctl import sysctl_file
from topoopt.routing.forwarding import Route


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
        routes[hop.interface].append(_route(route, f"from: {network.identities[0]}"))
    for table in network.tables:
        for route in table.routes:
            routes[route.hops[0].interface].append(_route(route, f"table: {table.number}"))
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


def _route(route: Route, more: str) -> str:
    return f"        - {{to: {route.address}/32, via: {route.hops[0].via}, {more}}}"


def _rule(table: SourceTable) -> str:
    return f"        - {{from: {table.source}, table: {table.number}, priority: {RULE_PREFERENCE}}}"
