"""ClusterSpec: the budget of servers, interfaces and bandwidth that a plan may spend."""

from dataclasses import dataclass
from typing import Annotated

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import finite, whole
from topoopt.catalog.accelerator import find_accelerator
from topoopt.catalog.networks import DEFAULT_LATENCY_S
from topoopt.schema.files import OneOf

LINK_MODES = ("duplex", "directed")
"""``duplex``: an interface is a fiber pair to one neighbor. ``directed``: it sends to one, receives from another."""

MOST_INTERFACES = 72
"""The largest number of interfaces of a server: a rack of 72 accelerators has a NIC for each."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The cluster of one job: the paper's n servers with d interfaces of bandwidth B.

    Attributes
    ----------
    servers : int
        Number of servers, at least 2.
    degree : int
        Interfaces per server, 1 to 72. More than there are other servers gives parallel links.
    link_bandwidth_bps : float
        Bandwidth of one interface per direction.
    accelerator : str
        A name or alias of the catalogue.
    intra_server_bandwidth_bps : float
        Bandwidth of each accelerator to the others of its server; 200 Gb/s as in the authors' simulations.
    link_latency_s : float
        Latency of one hop.
    links : str
        A name in :data:`LINK_MODES`.

    Raises
    ------
    InvalidInput
        If a value is out of range.
    """

    servers: int
    degree: int
    link_bandwidth_bps: float
    accelerators_per_server: int = 4
    accelerator: str = "a100"
    intra_server_bandwidth_bps: float = 200e9
    link_latency_s: float = DEFAULT_LATENCY_S
    links: Annotated[str, OneOf(LINK_MODES)] = "duplex"

    def __post_init__(self) -> None:
        whole("servers", self.servers, 2)
        whole("degree", self.degree, 1)
        if self.degree > MOST_INTERFACES:
            raise InvalidInput(
                f"degree: a server has at most {MOST_INTERFACES} interfaces, got {self.degree}"
            )
        whole("accelerators_per_server", self.accelerators_per_server, 1)
        _positive("link_bandwidth", self.link_bandwidth_bps, "bits per second")
        _positive("intra_server_bandwidth", self.intra_server_bandwidth_bps, "bits per second")
        if not self.link_latency_s >= 0:
            raise InvalidInput(f"link_latency: expected seconds >= 0, got {self.link_latency_s}")
        finite("link_latency", self.link_latency_s)
        check_known("links", self.links, LINK_MODES)
        find_accelerator(self.accelerator)

    @property
    def total_accelerators(self) -> int:
        """Accelerators of all servers together."""
        return self.servers * self.accelerators_per_server

    @property
    def server_bandwidth_bps(self) -> float:
        """Bandwidth of all interfaces of a server per direction: d·B."""
        return self.degree * self.link_bandwidth_bps


def reference_interfaces(accelerators: int, nic_bandwidth_bps: float) -> tuple[int, float]:
    """Return the interfaces of a server with a NIC for each accelerator, and the bandwidth of one.

    Where a server has more NICs than interfaces are modeled, an interface is a bundle of several.

    Examples
    --------
    >>> reference_interfaces(8, 400e9), reference_interfaces(384, 400e9)
    ((8, 400000000000.0), (64, 2400000000000.0))
    """
    most = min(accelerators, MOST_INTERFACES)
    degree = next(count for count in range(most, 0, -1) if accelerators % count == 0)
    return degree, nic_bandwidth_bps * accelerators / degree


def _positive(key: str, value: float, unit: str) -> None:
    if not value > 0:
        raise InvalidInput(f"{key}: expected {unit} > 0, got {value}")
    finite(key, value)
