"""The fabrics by name, each ready to carry a job: links, routes and rings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.finder.fabric_request import FabricRequest
from topoopt.finder.mixnet import mixnet
from topoopt.finder.named_wiring import is_wiring_file, named_wiring
from topoopt.finder.reconfigurable import RECONFIGURABLE, ReconfigurableBuilder
from topoopt.finder.rings import all_rings, lay_rings
from topoopt.finder.select_permutations import select_permutations
from topoopt.routing import Fabric, make_routes
from topoopt.topologies import FAMILIES, LINK_MODELS, Topology, circulant, stride_offsets
from topoopt.topologies.wirings import read_wiring_file


def stride_fabric(request: FabricRequest) -> Fabric:
    """Return a circulant with rings along its strides, by default those of SelectPermutations for all servers.

    A stride p joins server i with i + p and i - p and takes two interfaces of each. Routes are
    ``coin-change`` (balanced) unless the shape names others; ``single-shortest`` is one breadth-first path
    a pair, as in the authors' files. Where the shape names another wiring, it is that.

    Raises
    ------
    InvalidInput
        If the strides take more than ``degree`` interfaces, or a number is outside what is possible.
    NoRoute
        If the strides do not connect all servers.
    """
    if request.shape.wiring:
        return wired_fabric(request)
    servers, degree, seed = request.servers, request.degree, request.seed
    settings = request.shape.chosen("topoopt", frozenset({"strides", "routing"}))
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
    return Fabric("topoopt", topology, routes, rings)


COST_EQUIVALENT_FAT_TREE = 3.2
"""TopoOpt's bandwidth over that of a fat-tree of equal cost (NSDI 2023, Fig. 10: Ideal / TopoOpt = 3.2)."""
SETTINGS: Mapping[str, frozenset[str]] = {
    "fat-tree": frozenset({"switches", "arity"}),
    "oversub-fat-tree": frozenset({"switches", "arity", "oversubscription"}),
    "rail": frozenset({"switches", "leaf_ports", "oversubscription"}),
    "torus": frozenset({"twisted"}),
}
"""What the wiring of a fabric can be told, as parameters of its family; switches are no choice of the other ones."""


@dataclass(frozen=True, slots=True)
class FabricBuilder:
    """Builds one fabric of fixed links.

    Attributes
    ----------
    family : str
        Name of the wiring in ``FAMILIES``; the fabric is called the same.
    description : str
        What it is and what a server has there, in one line.
    bandwidth_share : float
        What a server has by default, of the d·B of the TopoOpt cluster that is compared with.
    """

    family: str
    description: str
    bandwidth_share: float = 1.0

    def __call__(self, request: FabricRequest) -> Fabric:
        """Return the fabric with ECMP over shortest paths and the rings of every group.

        On switches each group gets one ring in member order (on rails one on each), in a full mesh as many as it has
        links for, elsewhere up to the degree. A fat-tree of switches keeps no rings: there every connection of a
        ring takes the routes, and with them a path of its own.

        Raises
        ------
        InvalidInput
            If a number is outside what the wiring allows.
        """
        servers, degree, seed = request.servers, request.degree, request.seed
        settings = request.shape.chosen(self.family, SETTINGS.get(self.family, frozenset()) | {"routing"})
        routing = settings.pop("routing", "ecmp")
        wire: Callable[..., Topology] = FAMILIES[self.family]
        each_bps = request.each_bps(self.bandwidth_share)
        topology = wire(servers, degree, each_bps, request.latency_s, seed, **settings)
        routes = make_routes(routing, topology, seed)
        if request.shape.switches and self.family in ("fat-tree", "oversub-fat-tree"):
            return Fabric(self.family, topology, routes, {})
        most = servers - 1 if self.family == "full-mesh" else degree
        rings = {members: lay_rings(topology, routes, members, most, seed) for members in request.groups}
        return Fabric(self.family, topology, routes, rings)


_BUILDERS: tuple[FabricBuilder | ReconfigurableBuilder, ...] = (
    FabricBuilder("ideal-switch", "one non-blocking switch, d·B a server"),
    FabricBuilder("fat-tree", "full bisection, d·B/3.2 a server", 1 / COST_EQUIVALENT_FAT_TREE),
    FabricBuilder("oversub-fat-tree", "d·B a server, 2:1 above the first switch"),
    FabricBuilder("expander", "random d-regular graph, d·B a server"),
    FabricBuilder("torus", "most square torus, d·B a server over its neighbors"),
    FabricBuilder("full-mesh", "a link to every server, d·B shared by all"),
    FabricBuilder("rail", "leaf and spine for each of d interfaces, d·B a server"),
    *RECONFIGURABLE,
)
FABRICS: Mapping[str, Callable[[FabricRequest], Fabric]] = {
    "topoopt": stride_fabric,
    **{builder.family: builder for builder in _BUILDERS},
    "mixnet": mixnet,
}
"""Fabrics by name. Those of fixed links are baselines, too, that get d·B a server if no other rule is given."""


def build_fabric(name: str, request: FabricRequest, job_servers: int = 0) -> Fabric:
    """Return the named fabric; a job takes its first ``job_servers`` servers, and all others are spare.

    Raises
    ------
    InvalidInput
        If there is no such fabric, it has no such setting, or it is too small for the job.
    """
    check_known("fabric", name, FABRICS)
    if request.servers < job_servers:
        raise InvalidInput(
            f"fabric {name}: {request.servers} servers are too few for a job of {job_servers}; "
            f"use {job_servers} or more"
        )
    return FABRICS[name](request)


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
