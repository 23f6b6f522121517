"""The direct-connect fabric of given strides: what the authors call TopoOpt once its strides are chosen."""

from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.finder.fabric_request import FabricRequest
from topoopt.finder.rings import lay_rings
from topoopt.finder.select_permutations import select_permutations
from topoopt.routing import Fabric, make_routes
from topoopt.topology import circulant, stride_offsets


@dataclass(frozen=True, slots=True)
class StrideBuilder:
    """Builds a circulant, with rings along its strides; called like :class:`topoopt.finder.FabricBuilder`."""

    family: str = "topoopt"

    def __call__(self, request: FabricRequest) -> Fabric:
        """Return the fabric; without strides, those that SelectPermutations gives a group of all servers.

        A stride p joins server i with i + p and i - p and takes two interfaces of each. Routes are
        ``coin-change`` (balanced) unless the shape names others; ``single-shortest`` is one breadth-first path
        a pair, as in the authors' files.

        Raises
        ------
        InvalidInput
            If the strides take more than ``degree`` interfaces, or a number is outside what is possible.
        NoRoute
            If the strides do not connect all servers.
        """
        servers, degree, shape = request.servers, request.degree, request.shape
        shape.refuse_all_but(self.family, frozenset({"strides", "routing"}))
        strides = shape.strides or select_permutations(servers, degree)
        used = len(stride_offsets(servers, strides, "duplex"))
        if used > degree:
            raise InvalidInput(
                f"strides: {','.join(map(str, strides))} take {used} interfaces of {servers} servers, "
                f"got degree {degree}; use degree {used} or fewer strides"
            )
        topology = circulant(servers, strides, request.each_bps(), request.latency_s)
        routes = make_routes(shape.routing or "coin-change", topology, request.seed)
        rings = {
            members: lay_rings(topology, routes, members, degree, request.seed) for members in request.groups
        }
        return Fabric(self.family, topology, routes, rings)
