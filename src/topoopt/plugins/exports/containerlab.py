"""The wiring as a lab of containers: a node for each server, a link for each cable, by the names of interfaces.

Every node runs the script of its addresses and routes, which the format iproute2 has, too.

References
----------
.. [1] containerlab.dev: ``name`` and ``topology`` with ``nodes`` and ``links``; ``endpoints`` of ``node:interface``;
   ``binds`` of folders beside the file, ``exec`` once all links are there.
"""

import re

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.deployment import Contents, Deployment
from topoopt.plugins.exports.job_schedulers import hosts_of
from topoopt.plugins.exports.static_routes import iproute2

IMAGE = "frrouting/frr:v8.4.1"
"""A small one with iproute2; any other will do that has it."""
ROUTES = "routes"
"""The folder of scripts."""
MANAGEMENT = "eth0"
"""What containerlab takes for itself."""
LONGEST_INTERFACE = 15
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_INTERFACE = re.compile(r"[^\s:/]+")


def containerlab(deployment: Deployment) -> Contents:
    """Return the lab.

    Raises
    ------
    Infeasible
        If links go one way, or a name is none that a container or an interface of Linux can have.
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
