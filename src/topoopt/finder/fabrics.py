"""The fabrics by name, each ready to carry a job: links, routes and rings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from topoopt.errors import InvalidInput, unknown_name
from topoopt.finder.fabric_shape import AS_USUAL, FabricShape
from topoopt.finder.mixnet import MixNetBuilder
from topoopt.finder.reconfigurable import RECONFIGURABLE, ReconfigurableBuilder
from topoopt.finder.rings import lay_rings
from topoopt.finder.shaped_wiring import SETTINGS, shaped_wiring
from topoopt.finder.stride_fabric import StrideBuilder
from topoopt.routing import Fabric, make_routes
from topoopt.topology import DEFAULT_LATENCY_S

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
        shape: FabricShape = AS_USUAL,
    ) -> Fabric:
        """Return the fabric with ECMP over shortest paths and the rings of every group.

        Parameters
        ----------
        degree, bandwidth_bps : int, float
            Interfaces of a server and the bandwidth of one.
        groups : members of each AllReduce group
            On switches each gets one ring in member order (on rails one on each), in a full mesh as many as
            it has links for, elsewhere up to ``degree``. A fat-tree of switches keeps no rings: there every
            connection of a ring takes the routes, and with them a path of its own.
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
        shape.refuse_all_but(self.family, SETTINGS.get(self.family, frozenset()) | {"routing"})
        each_bps = server_bandwidth_bps / degree
        topology = shaped_wiring(self.family, servers, degree, each_bps, latency_s, seed, shape)
        routes = make_routes(shape.routing or "ecmp", topology, seed)
        if shape.switches and self.family in ("fat-tree", "oversub-fat-tree"):
            return Fabric(self.family, topology, routes, {})
        most = servers - 1 if self.family == "full-mesh" else degree
        rings = {members: lay_rings(topology, routes, members, most, seed) for members in groups}
        return Fabric(self.family, topology, routes, rings)


FABRICS: Mapping[str, FabricBuilder | StrideBuilder | ReconfigurableBuilder | MixNetBuilder] = {
    builder.family: builder
    for builder in (
        StrideBuilder(),
        FabricBuilder("ideal-switch"),
        FabricBuilder("fat-tree", 1 / COST_EQUIVALENT_FAT_TREE),
        FabricBuilder("oversub-fat-tree"),
        FabricBuilder("rail"),
        FabricBuilder("expander"),
        FabricBuilder("torus"),
        FabricBuilder("full-mesh"),
        *RECONFIGURABLE,
        MixNetBuilder(),
    )
}


def build_fabric(
    name: str,
    job_servers: int,
    degree: int,
    bandwidth_bps: float,
    groups: Iterable[tuple[int, ...]],
    *,
    servers: int | None = None,
    latency_s: float = DEFAULT_LATENCY_S,
    server_bandwidth_bps: float | None = None,
    seed: int = 0,
    shape: FabricShape = AS_USUAL,
) -> Fabric:
    """Return the named fabric for a job that takes its first ``job_servers`` servers; the others are spare.

    Parameters
    ----------
    groups : members of each AllReduce group
        Numbers of servers of the job, as :attr:`topoopt.simulate.TaskGraph.groups` gives them.
    servers : int, optional
        Servers of the fabric; by default those of the job.

    Raises
    ------
    InvalidInput
        If there is no such fabric, it has no such setting, or it is too small for the job.
    """
    if name not in FABRICS:
        raise unknown_name("fabric", name, FABRICS)
    servers = job_servers if servers is None else servers
    if servers < job_servers:
        raise InvalidInput(
            f"fabric {name}: {servers} servers are too few for a job of {job_servers}; use {job_servers} or more"
        )
    builder = FABRICS[name]
    what = (servers, degree, bandwidth_bps, tuple(groups))
    if isinstance(builder, ReconfigurableBuilder):
        shape.refuse_all_but(name, frozenset({"delay_s", "host_forwarding"}))
        return builder(
            *what,
            latency_s=latency_s,
            server_bandwidth_bps=server_bandwidth_bps,
            seed=seed,
            delay_s=shape.delay_s,
            host_forwarding=shape.host_forwarding,
        )
    return builder(
        *what, latency_s=latency_s, server_bandwidth_bps=server_bandwidth_bps, seed=seed, shape=shape
    )
