"""The direct-connect fabric of given strides: what the authors call TopoOpt once its strides are chosen."""

from topoopt.base.errors import InvalidInput
from topoopt.finder.fabric_request import FabricRequest
from topoopt.finder.rings import lay_rings
from topoopt.finder.select_permutations import select_permutations
from topoopt.finder.wired_fabric import wired_fabric
from topoopt.routing import Fabric, make_routes
from topoopt.topologies import circulant, stride_offsets


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
