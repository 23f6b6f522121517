"""The noun System: what step times in closed form need to know of the machines."""

from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.hardware import ClusterSpec, find_accelerator


@dataclass(frozen=True, slots=True)
class System:
    """Accelerators, the links among those of a server, and the network between servers.

    Attributes
    ----------
    accelerator : str
        A name or alias of the catalogue.
    accelerators_per_server : int
        Accelerators that reach each other over the scale-up links.
    scale_up_bandwidth_bps : float
        Of one accelerator in one direction.
    network_bandwidth_bps : float
        What one accelerator reaches other servers with, each way: d·B over the accelerators of a server.
    network_latency_s : float
        One hop.
    """

    accelerator: str
    accelerators_per_server: int
    scale_up_bandwidth_bps: float
    network_bandwidth_bps: float
    network_latency_s: float = 1e-6

    def __post_init__(self) -> None:
        find_accelerator(self.accelerator)
        for key in ("accelerators_per_server", "scale_up_bandwidth_bps", "network_bandwidth_bps"):
            value = getattr(self, key)
            if not 0 < value < float("inf"):
                raise InvalidInput(f"{key}: must be positive, got {value}")


def system_of(cluster: ClusterSpec) -> System:
    """Return the system that a cluster's servers make."""
    return System(
        cluster.accelerator,
        cluster.accelerators_per_server,
        cluster.intra_server_bandwidth_bps,
        cluster.server_bandwidth_bps / cluster.accelerators_per_server,
        cluster.link_latency_s,
    )
