"""The direct-connect fabric of given strides: what the authors call TopoOpt once its strides are chosen."""

from collections.abc import Iterable
from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.finder.fabric_shape import AS_USUAL, FabricShape
from topoopt.finder.rings import lay_rings
from topoopt.finder.select_permutations import select_permutations
from topoopt.routing import Fabric, make_routes
from topoopt.topology import DEFAULT_LATENCY_S, circulant, stride_offsets


@dataclass(frozen=True, slots=True)
class StrideBuilder:
    """Builds a circulant, with rings along its strides; called like :class:`topoopt.finder.FabricBuilder`."""

    family: str = "topoopt"

    def __call__(
        self,
        servers: int,
        degree: int,
        bandwidth_bps: float,
        groups: Iterable[tuple[int, ...]],
        *,
        latency_s: float = DEFAULT_LATENCY_S,
        server_bandwidth_bps: float | None = None,
        seed: int = 0,
        shape: FabricShape = AS_USUAL,
    ) -> Fabric:
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
        if degree < 1:
            raise InvalidInput(f"degree: must be at least 1, got {degree}")
        shape.refuse_all_but(self.family, frozenset({"strides", "routing"}))
        strides = shape.strides or select_permutations(servers, degree)
        used = len(stride_offsets(servers, strides, "duplex"))
        if used > degree:
            raise InvalidInput(
                f"strides: {','.join(map(str, strides))} take {used} interfaces of {servers} servers, "
                f"got degree {degree}; use degree {used} or fewer strides"
            )
        one_bps = bandwidth_bps if server_bandwidth_bps is None else server_bandwidth_bps / degree
        topology = circulant(servers, strides, one_bps, latency_s)
        routes = make_routes(shape.routing or "coin-change", topology, seed)
        rings = {members: lay_rings(topology, routes, members, degree, seed) for members in groups}
        return Fabric(self.family, topology, routes, rings)
