"""The fabrics by name, each ready to carry a job: links, routes and rings."""

from dataclasses import replace
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, OWN, Network, check_networks
from topoopt.finder.fabric_request import FabricRequest
from topoopt.finder.named_wiring import is_wiring_file, named_wiring
from topoopt.finder.rings import all_rings, lay_rings
from topoopt.finder.select_permutations import select_permutations
from topoopt.routing import Fabric, make_routes
from topoopt.topologies import LINK_MODELS, Topology, circulant, stride_offsets
from topoopt.topologies.wirings import read_wiring_file


def stride_fabric(request: FabricRequest) -> Fabric:
    """Return a circulant with rings along its strides, by default those of SelectPermutations for all servers.

    A stride p joins server i with i + p and i - p and takes two interfaces of each. Routes are
    ``coin-change`` (balanced) unless the shape names others; ``single-shortest`` is one breadth-first path
    a pair, as in the authors' files. Where the shape names another wiring, it is that.

    Raises
    ------
    InvalidInput
        If the strides take more than ``degree`` interfaces, or a number is out of range.
    NoRoute
        If the strides do not connect all servers.
    """
    if request.shape.wiring:
        return wired_fabric(request)
    servers, degree, seed = request.servers, request.degree, request.seed
    settings = request.shape.chosen(OWN, frozenset({"strides", "routing"}))
    strides = settings.get("strides") or select_permutations(servers, degree)
    used = len(stride_offsets(servers, strides, "duplex"))
    if used > degree:
        raise InvalidInput(
            f"strides: {','.join(map(str, strides))} take {used} interfaces of {servers} servers, "
            f"got degree {degree}; use degree {used} or fewer strides"
        )
    topology = circulant(servers, strides, request.each_bps(), request.latency_s)
    routes = make_routes(settings.get("routing", "coin-change"), topology, seed)
    rings = {members: lay_rings(topology, routes, members, degree, seed) for members in request.groups}
    return Fabric(OWN, topology, routes, rings)


def fabric_of_fixed_links(network: Network, request: FabricRequest) -> Fabric:
    """Return a network of fixed links with ECMP over shortest paths and the rings of every group.

    On switches each group gets one ring in member order (on rails one on each), in a full mesh as many as it has
    links for, elsewhere up to the degree. A fat-tree of switches keeps no rings: there every connection of a
    ring takes the routes, and with them a path of its own.

    Raises
    ------
    InvalidInput
        If a number is out of range for the wiring.
    """
    assert network.wire is not None
    servers, degree, seed = request.servers, request.degree, request.seed
    settings = request.shape.chosen(network.name, network.settings | {"routing"})
    routing = settings.pop("routing", "ecmp")
    topology: Topology = network.wire(
        servers, degree, request.each_bps(network.share), request.latency_s, seed, **settings
    )
    routes = make_routes(routing, topology, seed)
    links = int(np.diff(topology.first_link)[:servers].min())
    if request.shape.switches and network.trunks and "switches" in network.settings and links == 1:
        return Fabric(network.name, topology, routes, {})
    most = servers - 1 if network.own_ports else max(degree, links if network.switched else 0)
    rings = {members: lay_rings(topology, routes, members, most, seed) for members in request.groups}
    return Fabric(network.name, topology, routes, rings)


def build_fabric(name: str, request: FabricRequest, job_servers: int = 0) -> Fabric:
    """Return the named fabric; a job takes its first ``job_servers`` servers, and all others are spare.

    Raises
    ------
    InvalidInput
        If there is no such fabric, it has no such setting, or it is too small for the job.
    """
    check_networks("fabric", (name,), "simulate")
    if request.servers < job_servers:
        raise InvalidInput(
            f"fabric {name}: {request.servers} servers are too few for a job of {job_servers}; "
            f"use {job_servers} or more"
        )
    network = NETWORKS[name]
    if network.build is None:
        return fabric_of_fixed_links(network, request)
    fabric: Fabric = network.build(request)
    return fabric


def wired_fabric(request: FabricRequest) -> Fabric:
    """Return the wiring that the shape names, with its own rings, or rings found on it.

    Routes are ``coin-change`` on circulants and else ``k-shortest``, unless the shape names others.

    Raises
    ------
    Infeasible
        If the family has no wiring with these servers and interfaces.
    InvalidInput
        If the file is none, or joins other servers.
    """
    servers, degree, seed = request.servers, request.degree, request.seed
    settings = request.shape.chosen(OWN, frozenset({"wiring", "strides", "routing"}))
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
    return Fabric(OWN, topology, routes, rings, wiring=made)


def links_of_wiring(name: str) -> str:
    """Return the kind of links: that of the file, else duplex cables."""
    return str(cluster_of_wiring(name).get("links", LINK_MODELS[0]))


def cluster_of_wiring(name: str, degree: int | None = None, links: str | None = None) -> dict[str, Any]:
    """Return the fields of a cluster in a wiring file; nothing for a family.

    Parameters
    ----------
    degree, links
        Requested degree and links, for files that do not give them.

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
