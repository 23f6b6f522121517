"""The noun ClusterSpec: the budget of servers, interfaces and bandwidth that a plan may spend."""

from dataclasses import dataclass
from typing import Annotated

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import finite, whole
from topoopt.catalog.accelerator import find_accelerator
from topoopt.catalog.networks import DEFAULT_LATENCY_S
from topoopt.schema.files import OneOf

LINK_MODES = ("duplex", "directed")
"""``duplex``: an interface is a fiber pair to one neighbor. ``directed``: it sends to one, hears another."""

MAX_PARALLEL_LINKS = 4
"""Interfaces a server may spend on one neighbor: two servers of degree 4 are joined by four parallel links."""

MAX_DEGREE = 64
"""Interfaces of the largest server: eight network cards whose ports break out into eight lanes each."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The cluster of one job: the paper's n servers with d interfaces of bandwidth B.

    Attributes
    ----------
    servers : int
        Number of servers, at least 2.
    degree : int
        Interfaces per server, 1 .. :func:`largest_degree`. More than there are other servers gives parallel links.
    link_bandwidth_bps : float
        Bandwidth of one interface, each way.
    accelerator : str
        A name or alias of the catalogue.
    intra_server_bandwidth_bps : float
        What each accelerator reaches the others of its server with; 200 Gb/s as in the authors' simulations.
    link_latency_s : float
        Latency of one hop.
    links : str
        One of :data:`LINK_MODES`.

    Raises
    ------
    InvalidInput
        If a value is outside what is allowed.
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
        if self.degree > largest_degree(self.servers):
            raise InvalidInput(
                f"degree: {self.servers} servers can use at most {largest_degree(self.servers)} interfaces each "
                f"({MAX_PARALLEL_LINKS} to every other server, {MAX_DEGREE} in all), got {self.degree}"
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
        """Bandwidth of all interfaces of a server together, each way: d·B."""
        return self.degree * self.link_bandwidth_bps


def largest_degree(servers: int) -> int:
    """Return how many interfaces a server can use.

    Examples
    --------
    >>> largest_degree(2), largest_degree(12), largest_degree(128)
    (4, 44, 64)
    """
    return min(MAX_PARALLEL_LINKS * (servers - 1), MAX_DEGREE)


def reference_interfaces(accelerators: int, nic_bandwidth_bps: float, servers: int) -> tuple[int, float]:
    """Return the interfaces of a server with a NIC for each accelerator, and the bandwidth of one.

    Where a server has more NICs than direct cabling can use, an interface is a bundle of several.

    Examples
    --------
    >>> reference_interfaces(8, 400e9, servers=32), reference_interfaces(8, 400e9, servers=2)
    ((8, 400000000000.0), (4, 800000000000.0))
    >>> reference_interfaces(72, 400e9, servers=128)
    (36, 800000000000.0)
    """
    most = min(accelerators, largest_degree(servers))
    degree = next((count for count in range(most, 0, -1) if accelerators % count == 0), 1)
    return degree, nic_bandwidth_bps * accelerators / degree


def _positive(key: str, value: float, unit: str) -> None:
    if not value > 0:
        raise InvalidInput(f"{key}: expected {unit} > 0, got {value}")
    finite(key, value)
