"""Static routes for servers or packet switches that run SONiC: a part of ``config_db.json`` for each."""

import csv
import io
import json
import re

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.server_network import ServerNetwork
from topoopt.routing.forwarding import Route

_PORT = re.compile(r"Ethernet\d+")
LANES = 4
"""Of a port: SONiC numbers ports by their first lane where the inventory's names are no names of SONiC."""


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
        ports = _ports(network)
        rows += [(network.name, *pair) for pair in ports.items()]
        files[f"{network.name}/config_db.json"] = json.dumps(_config(network, ports), indent=1) + "\n"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return {"ports.csv": text.getvalue(), **files}


def _ports(network: ServerNetwork) -> dict[str, str]:
    names = [one.name for one in network.interfaces]
    if all(_PORT.fullmatch(name) for name in names):
        return dict(zip(names, names, strict=True))
    return {name: f"Ethernet{LANES * place}" for place, name in enumerate(names)}


def _config(network: ServerNetwork, ports: dict[str, str]) -> dict[str, dict[str, dict[str, str]]]:
    loopback: dict[str, dict[str, str]] = {"Loopback0": {}}
    loopback |= {f"Loopback0|{identity}/32": {} for identity in network.identities}
    interfaces: dict[str, dict[str, str]] = {}
    for one in network.interfaces:
        interfaces[ports[one.name]] = {}
        interfaces |= {f"{ports[one.name]}|{address}": {} for address in one.addresses}
    routes = {f"default|{route.address}/32": _route(route, ports) for route in network.main}
    return {"LOOPBACK_INTERFACE": loopback, "INTERFACE": interfaces, "STATIC_ROUTE": routes}


def _route(route: Route, ports: dict[str, str]) -> dict[str, str]:
    return {
        "nexthop": ",".join(hop.via for hop in route.hops),
        "ifname": ",".join(ports[hop.interface] for hop in route.hops),
        "distance": ",".join("0" for _ in route.hops),
    }
