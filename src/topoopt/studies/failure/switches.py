"""What of a switched fabric can fail: links of servers, and switches, each with the bandwidth that it takes along."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from topoopt.pricing import Plane, network_bill, pricing_of


@dataclass(frozen=True, slots=True)
class SwitchTier:
    """Switches of one tier, over all trees.

    Attributes
    ----------
    count : int
        Switches of this tier.
    servers : int
        How many servers lose bandwidth with one of them.
    lost : float
        The share of its bandwidth that each of these loses.
    """

    name: str
    count: int
    servers: int
    lost: float


@dataclass(frozen=True, slots=True)
class LostBandwidth:
    """A part of a switched fabric that is dead, and what that takes from servers."""

    part: str
    servers: int
    lost: float

    def __str__(self) -> str:
        whom = "a server" if self.servers == 1 else f"each of {self.servers} servers"
        return f"{self.part}: {self.lost:.0%} of the bandwidth of {whom}"


def switch_tiers(fabric: str, servers: int, interfaces: int, bandwidth_bps: float) -> tuple[SwitchTier, ...]:
    """Return the switches of a fabric by tier, whole ones as they are bought by the usual list; none without switches.

    Ports of a server in one tree hang on one leaf of it. A leaf takes those ports from the servers below it, and a
    switch above it takes its share of what the tree carries. A path around it is taken at once, as routing has it.

    Raises
    ------
    InvalidInput
        If the fabric is unknown.
    Infeasible
        If no switches of the catalogue join the servers.

    Examples
    --------
    All interfaces of a small cluster are on one switch, which is cheap; a larger one has a tree for each.

    >>> switch_tiers("rail", 16, 4, 100e9)
    (SwitchTier(name='leaf', count=1, servers=16, lost=1.0),)
    >>> [(tier.name, tier.count, tier.servers, tier.lost) for tier in switch_tiers("rail", 512, 8, 400e9)]
    [('leaf', 32, 128, 0.125), ('spine', 16, 512, 0.0625)]
    """
    bill = network_bill(fabric, servers, interfaces, bandwidth_bps, pricing_of())
    return tuple(tier for plane in bill.planes for tier in _tiers(plane, servers, interfaces))


def _tiers(plane: Plane, servers: int, interfaces: int) -> Iterator[SwitchTier]:
    """Yield the tiers of trees of one shape."""
    tree, share = plane.tree, plane.interfaces / interfaces
    yield SwitchTier("leaf", tree.leaves * plane.count, -(-servers // tree.leaves), share)
    if tree.aggregation:
        in_pod = gcd(tree.aggregation, tree.spines)  # each of a pod has a group of spines of its own
        behind = -(-servers * in_pod // tree.aggregation)
        yield SwitchTier("aggregation", tree.aggregation * plane.count, behind, share / in_pod)
    if tree.spines:
        yield SwitchTier("spine", tree.spines * plane.count, servers, share / tree.spines)
