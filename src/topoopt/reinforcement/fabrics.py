"""The same step on other networks: what each phase waits for there, what the network costs, and what a step does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from topoopt.base.errors import TopoOptError, check_known
from topoopt.finder import FABRICS, FabricRequest, build_fabric
from topoopt.pricing import NetworkPrice, Pricing, network_bill, network_price
from topoopt.reinforcement.wirings import Ports, network_s
from topoopt.routing import Fabric
from topoopt.transformers import System
from topoopt.workloads import Traffic

FIXED = ("ideal-switch", "rail", "fat-tree", "oversub-fat-tree", "full-mesh", "expander", "torus")
"""Fabrics whose wiring no job chooses; each has all of a server's bandwidth at its ports."""

TOPOOPT, TOPOOPT_OCS = "topoopt", "topoopt-ocs"
"""One wiring for all phases, behind patch panels; circuits of optical switches, that change where it pays."""

OPTICAL_SWITCH = "3d-mems"
"""What the second is built of."""

LARGEST_DEGREE = 8
"""Interfaces of a server: one for each accelerator, of larger servers fewer and faster ones."""


@dataclass(frozen=True, slots=True)
class FabricRow:
    """A step on one network.

    Attributes
    ----------
    fabric : str
    network_s : mapping from a phase to float
        How long the fullest link needs for its bytes.
    step_s : float
        Where it needs longer than the ideal switch, the phase waits for the difference.
    network_usd : float or None
        Price of the network; None where that of a part is not known.
    usd_per_step : float or None
        Servers, network and electricity.
    way : str
        How weights are brought over: the one whose fullest link is done first, where none is given.
    unknown : tuple of str
        What nobody's figure says, so that a price is None.
    """

    fabric: str
    network_s: Mapping[str, float]
    step_s: float
    network_usd: float | None
    usd_per_step: float | None
    way: str
    unknown: tuple[str, ...] = ()


def ports_of(system: System) -> Ports:
    """Return a server's interfaces."""
    degree = min(system.accelerators_per_server, LARGEST_DEGREE)
    together_bps = system.network_bandwidth_bps * system.accelerators_per_server
    return Ports(degree, together_bps / degree, system.network_latency_s)


def fixed_fabric(name: str, servers: int, ports: Ports, traffics: Sequence[Traffic], seed: int) -> Fabric:
    """Return a fabric that no job wires, with rings for all groups.

    Raises
    ------
    InvalidInput
        For an unknown name, or if it does not go with servers and ports.
    """
    check_known("fabric", name, (*FIXED, TOPOOPT, TOPOOPT_OCS))
    assert name in FABRICS
    groups = tuple(dict.fromkeys(group.members for one in traffics for group in one.allreduce))
    request = FabricRequest(
        servers,
        ports.degree,
        ports.bandwidth_bps,
        groups,
        ports.latency_s,
        server_bandwidth_bps=ports.degree * ports.bandwidth_bps,
        seed=seed,
    )
    return build_fabric(name, request)


def phase_seconds(phases: Mapping[str, Traffic], fabric: Fabric) -> dict[str, float]:
    """Return what each phase needs on a fabric."""
    return {name: network_s(traffic, fabric) for name, traffic in phases.items()}


def network_of(name: str, servers: int, ports: Ports, prices: Pricing) -> NetworkPrice:
    """Return the price of a network and its watts, or what nobody's figure says."""
    try:
        return network_price(network_bill(name, servers, ports.degree, ports.bandwidth_bps, prices))
    except TopoOptError as error:
        return NetworkPrice(None, None, (str(error),))
