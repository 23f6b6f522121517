"""The noun System: what step times in closed form need to know of the machines."""

import re
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.catalog import Accelerator, ClusterSpec, find_accelerator
from topoopt.transformers.degrees import divisors

LARGEST_SERVER = 16
"""Scale-up domains of more accelerators are racks and pods, of which a job need not have all."""


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


def usual_system(
    accelerator: str,
    accelerators_per_server: int | None = None,
    scale_up_bandwidth_bps: float | None = None,
    network_bandwidth_bps: float | None = None,
    network_latency_s: float = 1e-6,
    accelerators: int | None = None,
) -> System:
    """Return the machines; what is not given comes from the catalogue's row of the accelerator.

    Parameters
    ----------
    accelerators
        Of the job, for :func:`accelerators_of_a_server`.

    Raises
    ------
    InvalidInput
        If the accelerator is unknown, or a number is neither given nor in the catalogue.
    """
    part = find_accelerator(accelerator)
    scale_up_bps = _rate("intra_server_bandwidth", scale_up_bandwidth_bps, part.scale_up_bandwidth_bps, part)
    return System(
        accelerator,
        accelerators_of_a_server(part, accelerators)
        if accelerators_per_server is None
        else accelerators_per_server,
        scale_up_bps,
        _rate("bandwidth", network_bandwidth_bps, part.nic_bandwidth_bps, part),
        network_latency_s,
    )


def accelerators_of_a_server(part: Accelerator, accelerators: int | None = None) -> int:
    """Return the smallest number of accelerators that scale-up links join; the catalogue may say ``4-32``.

    A job of so many ``accelerators`` has equal parts of racks and pods: of 256 in racks of 72, which it does not fill,
    64 of each of four, so that no group of ranks that fits into a rack lies in two of them.

    Raises
    ------
    InvalidInput
        If the catalogue does not say.
    """
    match = re.match(r"\d+", part.scale_up_domain)
    if match is None:
        raise InvalidInput(
            f"accelerators_per_server: the catalogue does not say how many {part.name} share one"
        )
    domain = int(match[0])
    if accelerators is None or domain <= LARGEST_SERVER:
        return domain
    even = max(one for one in divisors(accelerators) if one <= domain)
    return even if 2 * even >= min(domain, accelerators) else domain


def _rate(word: str, rate: float | None, known: float | None, part: Accelerator) -> float:
    if rate is not None:
        return rate
    if known is None:
        raise InvalidInput(f"{word}: the catalogue gives none for {part.name}; write for example 400Gbps")
    return known
