"""The noun Fabric: a topology with everything that a simulator needs to use it."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.routing.reconfiguration import Reconfiguration
from topoopt.routing.regional_reconfiguration import RegionalReconfiguration
from topoopt.routing.routes import Routes
from topoopt.topologies import DirectWiring, Ring, Topology


@dataclass(frozen=True, eq=False)
class Fabric:
    """Links, routes of every pair, and the rings of every AllReduce group.

    Attributes
    ----------
    name : str
        Name in the table of fabrics: ``topoopt``, ``ideal-switch``, ``fat-tree``, …
    rings : mapping from the sorted members of a group to its rings
        AllReduce bytes of the group are split equally over them. A group that is not listed takes one ring in
        member order, each edge along the routes.
    reconfiguration : Reconfiguration or RegionalReconfiguration, optional
        How the circuits change over time. Links and routes are then those of the start, or, where circuits are
        regional, those of the electrical fabric alone. None is wired for good.
    wiring : DirectWiring, optional
        Of what the topology finder has wired: how all servers are joined, where that is not along strides.
    """

    name: str
    topology: Topology
    routes: Routes
    rings: Mapping[tuple[int, ...], tuple[Ring, ...]]
    reconfiguration: Reconfiguration | RegionalReconfiguration | None = None
    wiring: DirectWiring | None = None

    @property
    def beat(self) -> Reconfiguration:
        """The rule of a fabric whose circuits all change at the same time."""
        assert isinstance(self.reconfiguration, Reconfiguration)
        return self.reconfiguration
