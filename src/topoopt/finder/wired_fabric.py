"""The direct-connect fabric of a family of wirings, or of a wiring file: a strategy that is known on other cables."""

from dataclasses import replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.finder.fabric_request import FabricRequest
from topoopt.finder.named_wiring import is_wiring_file, named_wiring
from topoopt.finder.rings import lay_rings
from topoopt.finder.wiring_rings import all_rings
from topoopt.routing import Fabric, make_routes
from topoopt.topologies import LINK_MODELS
from topoopt.topologies.wirings import read_wiring_file


def wired_fabric(request: FabricRequest) -> Fabric:
    """Return the wiring that the shape names, with its own rings, or those that are found on it.

    Routes are ``coin-change`` on circulants and else ``k-shortest``, unless the shape names others.

    Raises
    ------
    Infeasible
        If the family has no wiring of so many servers and interfaces.
    InvalidInput
        If the file is none, or joins other servers.
    """
    servers, degree, seed = request.servers, request.degree, request.seed
    settings = request.shape.chosen("topoopt", frozenset({"wiring", "strides", "routing"}))
    if "strides" in settings:
        raise InvalidInput("strides: are a wiring of their own; give them or wiring")
    name = settings["wiring"]
    made = named_wiring(name, servers, degree, links_of_wiring(name), seed)
    topology = made.topology(request.each_bps(), request.latency_s)
    if tuple(range(servers)) in request.groups:
        topology = replace(topology, rings=all_rings(made, seed))
    usual = "coin-change" if topology.offsets else "k-shortest"
    routes = make_routes(settings.get("routing", usual), topology, seed)
    rings = {members: lay_rings(topology, routes, members, degree, seed) for members in request.groups}
    return Fabric("topoopt", topology, routes, rings, wiring=made)


def links_of_wiring(name: str) -> str:
    """Return the kind of links: what a file says, else cables."""
    return str(cluster_of_wiring(name).get("links", LINK_MODELS[0]))


def cluster_of_wiring(name: str, degree: int | None = None, links: str | None = None) -> dict[str, Any]:
    """Return the fields of a cluster that a wiring file says; nothing for a family.

    Parameters
    ----------
    degree, links
        What is asked for beside it; for files that do not say them.

    Returns
    -------
    dict
        ``servers``, ``degree`` and ``links``; ``link_bandwidth_bps`` and ``link_latency_s`` if its links have them.

    Raises
    ------
    InvalidInput
        If the file is none; see :func:`topoopt.topologies.wirings.read_wiring_file`.
    """
    if not is_wiring_file(name):
        return {}
    made, _ = read_wiring_file(name, links, degree, only_listed=True)
    said = {
        f"link_{key}": made.recipe[key]
        for key in ("bandwidth_bps", "latency_s")
        if isinstance(made.recipe.get(key), float)
    }
    return {"servers": made.servers, "degree": made.degree, "links": made.links, **said}
