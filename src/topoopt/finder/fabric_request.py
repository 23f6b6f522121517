"""The noun FabricRequest: for which servers, interfaces and groups a fabric of the table is built."""

from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.finder.fabric_shape import AS_USUAL, FabricShape
from topoopt.topology import DEFAULT_LATENCY_S


@dataclass(frozen=True, slots=True)
class FabricRequest:
    """What every builder of a fabric takes.

    Attributes
    ----------
    servers : int
    degree, bandwidth_bps : int, float
        Interfaces of a server, and the bandwidth of one, each way.
    groups : sequence of tuple of int
        Members of each AllReduce group, as :attr:`topoopt.simulate.TaskGraph.groups` gives them: they get rings.
    latency_s : float
        Of one link.
    server_bandwidth_bps : float, optional
        All interfaces of a server together, in place of what the fabric has by default.
    seed : int
    shape : FabricShape
        What only some fabrics can be told.
    """

    servers: int
    degree: int
    bandwidth_bps: float
    groups: Sequence[tuple[int, ...]] = ()
    latency_s: float = DEFAULT_LATENCY_S
    server_bandwidth_bps: float | None = None
    seed: int = 0
    shape: FabricShape = AS_USUAL

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"degree: must be at least 1, got {self.degree}")

    def each_bps(self, share: float = 1.0) -> float:
        """Return the bandwidth of an interface; ``share`` of d·B is the default of all of them together."""
        together_bps = self.server_bandwidth_bps
        if together_bps is None:
            together_bps = self.degree * self.bandwidth_bps * share
        return together_bps / self.degree
