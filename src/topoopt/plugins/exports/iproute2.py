"""Routes for iproute2: of each server a script, what ``ip -batch`` reads, and settings of the kernel."""

from collections.abc import Iterator

from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.server_network import MTU_BYTES, ServerNetwork
from topoopt.plugins.exports.sysctl import kernel_settings
from topoopt.routing.forwarding import Route

RULE_PREFERENCE = 1000
"""Of all rules of ours: tables by source are asked before the main one."""
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


def iproute2(deployment: Deployment) -> Contents:
    """Return ``SERVER.sh`` and ``SERVER.batch`` of every server; the script sets the kernel and reads the batch."""
    files = {}
    for network in deployment.networks:
        files[f"{network.name}.sh"] = _script(network, deployment.prefixes)
        files[f"{network.name}.batch"] = "\n".join(_batch(network)) + "\n"
    return files


def _script(network: ServerNetwork, prefixes: tuple[str, str]) -> str:
    settings = (f"sysctl -qw {name}={value}" for name, value in kernel_settings(network).items())
    return _SCRIPT.format(
        name=network.name,
        settings="\n".join(settings),
        preference=RULE_PREFERENCE,
        protocol=PROTOCOL,
        prefixes=" ".join(prefixes),
    )


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
    yield from (_route(route, own) for route in network.main)
    for table in network.tables:
        where = f" table {table.number}"
        yield from (_route(route, where) for route in table.routes)
        yield f"rule add preference {RULE_PREFERENCE} from {table.source} lookup {table.number}"


def _route(route: Route, more: str) -> str:
    begin = f"route replace {route.address}/32 protocol {PROTOCOL}{more}"
    if len(route.hops) == 1:
        return f"{begin} via {route.hops[0].via} dev {route.hops[0].interface}"
    hops = (f" nexthop via {hop.via} dev {hop.interface} weight {hop.weight}" for hop in route.hops)
    return begin + "".join(hops)
