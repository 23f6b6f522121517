"""The fabrics TopoOpt is compared with, each ready to carry a job: links, routes and rings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.finder.reconfigurable import RECONFIGURABLE, ReconfigurableBuilder
from topoopt.finder.rings import lay_rings
from topoopt.routing import ROUTING, Fabric
from topoopt.topology import DEFAULT_LATENCY_S, FAMILIES

COST_EQUIVALENT_FAT_TREE = 3.2
"""TopoOpt's bandwidth over that of a fat-tree of equal cost (NSDI 2023, Fig. 10: Ideal / TopoOpt = 3.2)."""


@dataclass(frozen=True, slots=True)
class FabricBuilder:
    """Builds one fabric for servers of given interfaces and groups of known members.

    Attributes
    ----------
    family : str
        Name of the wiring in ``FAMILIES``; the fabric is called the same.
    bandwidth_share : float
        What a server has by default, of the d·B of the TopoOpt cluster that is compared with.
    """

    family: str
    bandwidth_share: float = 1.0

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
    ) -> Fabric:
        """Return the fabric with ECMP over shortest paths and the rings of every group.

        Parameters
        ----------
        degree, bandwidth_bps : int, float
            Interfaces of a server and the bandwidth of one.
        groups : members of each AllReduce group
            On switches each gets one ring in member order, in a full mesh as many as it has links for,
            elsewhere up to ``degree``.
        server_bandwidth_bps : float, optional
            All links of a server together, in place of the default share.

        Raises
        ------
        InvalidInput
            If a number is outside what the wiring allows.
        """
        if degree < 1:
            raise InvalidInput(f"degree: must be at least 1, got {degree}")
        if server_bandwidth_bps is None:
            server_bandwidth_bps = degree * bandwidth_bps * self.bandwidth_share
        topology = FAMILIES[self.family](servers, degree, server_bandwidth_bps / degree, latency_s, seed)
        routes = ROUTING["ecmp"](topology, seed)
        most = servers - 1 if self.family == "full-mesh" else degree
        rings = {members: lay_rings(topology, routes, members, most, seed) for members in groups}
        return Fabric(self.family, topology, routes, rings)


FABRICS: Mapping[str, FabricBuilder | ReconfigurableBuilder] = {
    builder.family: builder
    for builder in (
        FabricBuilder("ideal-switch"),
        FabricBuilder("fat-tree", 1 / COST_EQUIVALENT_FAT_TREE),
        FabricBuilder("oversub-fat-tree"),
        FabricBuilder("expander"),
        FabricBuilder("torus"),
        FabricBuilder("full-mesh"),
        *RECONFIGURABLE,
    )
}
